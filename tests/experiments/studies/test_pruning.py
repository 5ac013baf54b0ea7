"""Two searches side by side: which executables are measured again, and what is said of each."""

from __future__ import annotations

from frontrunner.benchmarks.measuring import FinalistResult, Finals, Outcome
from frontrunner.experiments.studies.pruning import Sides


def ran(relative: float, same_as: int | None = None) -> Outcome:
    return Outcome("ok", 100 * relative, 100.0, same_as=same_as)


def finals(*indices: int, failed: tuple[int, ...] = ()) -> Finals:
    standings = tuple(FinalistResult(i, 2.0, (1.9, 2.1), 50.0) for i in indices)
    return Finals(standings, 100.0, 0.01, tuple((i, "it crashed") for i in failed))


def test_contenders_of_both_sides_are_measured_first() -> None:
    outcomes = {0: ran(0.4), 1: ran(0.5), 2: ran(0.6), 3: ran(0.8), 4: ran(0.7)}
    sides = Sides.of(outcomes, first_wide=3)
    assert sides.contenders(outcomes) == [0, 4, 1, 2, 3]


def test_a_twin_is_measured_once_and_counts_for_both_sides() -> None:
    outcomes = {0: ran(0.5), 1: ran(0.4), 2: ran(0.4, same_as=1), 3: ran(0.9)}
    sides = Sides.of(outcomes, first_wide=2)
    assert sides.contenders(outcomes) == [1, 0, 3]
    found = finals(1, 0)
    assert sides.standing(found, sides.inside) == sides.standing(found, sides.wide)
    assert sides.shown(sides.standing(found, sides.wide)) == 2


def test_what_fell_behind_is_told_from_what_took_no_part() -> None:
    outcomes = {0: ran(0.4), 1: ran(0.8), 2: Outcome("crashed"), 3: ran(1.0, same_as=-1)}
    sides = Sides.of(outcomes, first_wide=1)
    assert sides.standing(finals(0), sides.wide) == "slower"
    assert sides.standing(finals(0, failed=(1,)), sides.wide) == "not measured"
    nothing = Sides.of({0: outcomes[0], 2: outcomes[2], 3: outcomes[3]}, first_wide=1)
    assert nothing.standing(finals(0), nothing.wide) == "not measured"
