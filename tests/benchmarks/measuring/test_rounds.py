"""Further rounds: who is measured again, how often, and beside what."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from frontrunner.benchmarks.measuring.chips import shares_cores
from frontrunner.benchmarks.measuring.device import RunFailed
from frontrunner.benchmarks.measuring.estimate import Repeat
from frontrunner.benchmarks.measuring.outcome import BASELINE, Outcome
from frontrunner.benchmarks.measuring.rounds import (
    BLOCK_SIZE,
    NEAR_ROUNDS,
    RECORD_ROUNDS,
    estimate_times,
    measure_again,
)


class Machine:
    """A device on which candidate i takes `times[i]` us, drifting and noisy; the default 100."""

    def __init__(
        self,
        times: dict[int, float],
        uri: str = "local-task",
        fails: int = -1,
        kind: str = "crashed",
    ) -> None:
        self.uri = self.name = uri
        self.shares_cores = shares_cores(uri)
        self.times = times
        self.fails = fails
        self.kind = kind
        self.order: list[int] = []
        self.factor = 1.0
        self.rng = np.random.default_rng(0)

    def measure_baseline(self, seconds: float) -> float:
        self.factor *= 1.01
        return 100 * self.factor * self.rng.uniform(0.99, 1.01)

    def measure(self, executable: Path, seconds: float, *, verify: bool) -> float:
        assert not verify
        index = int(executable.stem)
        self.order.append(index)
        if index == self.fails:
            raise RunFailed(self.kind, "no")
        return self.times[index] * self.factor * self.rng.uniform(0.99, 1.01)


def outcomes(times: dict[int, float], uri: str = "local-task") -> dict[int, Outcome]:
    return {i: Outcome("ok", t, 100.0, executable=f"{i}", device=uri) for i, t in times.items()}


def paths(times: dict[int, float]) -> dict[int, Path]:
    return {i: Path(f"{i}.vmfb") for i in times}


TIMES = {0: 50.0, 1: 52.0, 2: 70.0, 3: 300.0, **{i: 85.0 + i for i in range(4, 20)}, 20: 115.0}
HOPELESS = {3, 20}


def count(repeats) -> Counter[int]:
    return Counter(r.index for r in repeats if r.index != BASELINE)


def test_the_near_optimal_have_the_most_rounds() -> None:
    machine = Machine(TIMES)
    repeats = list(measure_again([machine], paths(TIMES), outcomes(TIMES), [], 0))
    rounds = count(repeats)
    assert rounds[0] == rounds[1] == NEAR_ROUNDS
    assert RECORD_ROUNDS <= rounds[2] < NEAR_ROUNDS and RECORD_ROUNDS <= rounds[4] < NEAR_ROUNDS
    assert not HOPELESS & rounds.keys()
    first = machine.order[: len(TIMES) - len(HOPELESS)]
    assert set(first) == set(TIMES) - HOPELESS  # a whole round before the next
    assert first != sorted(first)
    assert machine.order[: len(first)] != machine.order[len(first) : 2 * len(first)]


def test_each_round_is_told_of() -> None:
    told: list[int] = []
    given = paths(TIMES), outcomes(TIMES), []
    repeats = list(measure_again([Machine(TIMES)], *given, 0, told.append))
    assert len(told) == NEAR_ROUNDS
    assert told[0] == len(TIMES) - len(HOPELESS) > told[-1] > 1
    assert sum(told) == count(repeats).total()


def test_each_block_begins_with_the_baseline() -> None:
    repeats = list(measure_again([Machine(TIMES)], paths(TIMES), outcomes(TIMES), [], 0))
    blocks: dict[int, list[int]] = {}
    for repeat in repeats:
        blocks.setdefault(repeat.block, []).append(repeat.index)
    assert list(blocks) == list(range(len(blocks)))
    for indices in blocks.values():
        assert indices[0] == BASELINE and indices.count(BASELINE) == 1
        assert 2 <= len(indices) <= BLOCK_SIZE + 1 and len(set(indices)) == len(indices)


def test_drift_is_taken_out() -> None:
    machine = Machine(TIMES)
    repeats = list(measure_again([machine], paths(TIMES), outcomes(TIMES), [], 0))
    assert machine.factor > 1.3
    for index, found in estimate_times(outcomes(TIMES), repeats).items():
        assert found.relative == pytest.approx(TIMES[index] / 100, rel=0.03)


@pytest.mark.parametrize("once", [20.0, 200.0], ids=["lucky", "unlucky"])
def test_luck_is_found_out(once: float) -> None:
    """And what is near the true best then, has its rounds."""
    given = outcomes(TIMES)
    index = 7 if once < 50 else 1
    time_us = once if once < 50 else 66.0  # seems to be beyond 15 %, but not beyond doubt
    given[index] = Outcome("ok", time_us, 100.0, executable=f"{index}", device="local-task")
    repeats = list(measure_again([Machine(TIMES)], paths(TIMES), given, [], 0))
    found = estimate_times(given, repeats)
    assert found[index].relative == pytest.approx(TIMES[index] / 100, rel=0.03)
    assert found[0].rounds == found[1].rounds == NEAR_ROUNDS


def test_a_session_goes_on_where_it_stopped() -> None:
    whole = list(measure_again([Machine(TIMES)], paths(TIMES), outcomes(TIMES), [], 0))
    known = whole[:17]
    more = list(measure_again([Machine(TIMES)], paths(TIMES), outcomes(TIMES), known, 0))
    done = [*known, *more]
    assert count(done)[0] == count(done)[1] == NEAR_ROUNDS
    assert not {r.block for r in known} & {r.block for r in more}
    assert not list(measure_again([Machine(TIMES)], paths(TIMES), outcomes(TIMES), done, 0))


def test_failures_and_twins_are_left_out() -> None:
    given = outcomes(TIMES) | {
        30: Outcome("ok", 50.0, 100.0, executable="0", same_as=0, device="local-task"),
        31: Outcome("compile_failed", stage="compile"),
    }
    repeats = list(measure_again([Machine(TIMES, fails=1)], paths(TIMES), given, [], 0))
    assert [r.time_us for r in repeats if r.index == 1] == [None]
    assert not {1, 30, 31} & estimate_times(given, repeats).keys()


def test_what_is_killed_is_left_at_what_is_known_of_it() -> None:
    """It would count as a candidate that fails; and for ever it is not tried."""
    machine = Machine(TIMES, fails=1, kind="killed")
    given = outcomes(TIMES)
    repeats = list(measure_again([machine], paths(TIMES), given, [], 0))
    assert machine.order.count(1) == 1
    assert not [r for r in repeats if r.index == 1]
    found = estimate_times(given, repeats)[1]
    assert (found.relative, found.rounds) == (0.52, 0)
    more = measure_again([Machine(TIMES)], paths(TIMES), given, repeats, 0)
    assert {r.index for r in more} == {BASELINE, 1}  # another session tries again


def test_each_device_measures_its_own() -> None:
    here = {i: t for i, t in TIMES.items() if i % 2}
    there = {i: t for i, t in TIMES.items() if not i % 2}
    given = outcomes(here, "cuda://0") | outcomes(there, "cuda://1")
    machines = [Machine(TIMES, "cuda://0"), Machine(TIMES, "cuda://1")]
    repeats = list(measure_again(machines, paths(TIMES), given, [], 0))
    assert set(machines[0].order) == set(here) - HOPELESS
    assert set(machines[1].order) == set(there) - HOPELESS
    assert {r.device for r in repeats} == {"cuda://0", "cuda://1"}
    assert all(isinstance(r, Repeat) for r in repeats)
