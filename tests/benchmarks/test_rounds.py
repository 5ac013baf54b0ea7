"""Further rounds: who is measured again, how often, and against which baseline."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from frontrunner.benchmarks.device import KernelFailed
from frontrunner.benchmarks.outcome import Outcome
from frontrunner.benchmarks.rounds import NEAR_ROUNDS, ROUNDS, Repeat, measure_again, ratios


class Machine:
    """A device on which candidate i takes `times[i]` us, drifting and noisy; the default 100."""

    def __init__(self, times: dict[int, float], uri: str = "local-task", fails: int = -1) -> None:
        self.uri = uri
        self.times = times
        self.fails = fails
        self.order: list[int] = []
        self.factor = 1.0
        self.rng = np.random.default_rng(0)

    def measure_baseline(self, seconds: float) -> float:
        self.factor *= 1.02
        return 100 * self.factor

    def measure(self, executable: Path, seconds: float, *, verify: bool) -> float:
        assert not verify
        index = int(executable.stem)
        self.order.append(index)
        if index == self.fails:
            raise KernelFailed("crashed", "no")
        return self.times[index] * self.factor * self.rng.uniform(0.99, 1.01)


def outcomes(times: dict[int, float], uri: str = "local-task") -> dict[int, Outcome]:
    return {i: Outcome("ok", t, 100.0, executable=f"{i}", device=uri) for i, t in times.items()}


def paths(times: dict[int, float]) -> dict[int, Path]:
    return {i: Path(f"{i}.vmfb") for i in times}


TIMES = {0: 50.0, 1: 52.0, 2: 70.0, 3: 300.0, **{i: 80.0 + i for i in range(4, 20)}}


def test_the_near_optimal_have_the_most_rounds() -> None:
    machine = Machine(TIMES)
    repeats = list(measure_again([machine], paths(TIMES), outcomes(TIMES), [], 0))
    count = Counter(r.index for r in repeats)
    assert count[0] == count[1] == ROUNDS + NEAR_ROUNDS
    assert count[2] == count[4] == ROUNDS
    assert count[3] == 0  # hopeless
    first = machine.order[: len(TIMES) - 1]
    assert set(first) == set(TIMES) - {3}  # a whole round before the next
    assert first != sorted(first)
    assert machine.order[: len(first)] != machine.order[len(first) : 2 * len(first)]


def test_drift_is_taken_out() -> None:
    machine = Machine(TIMES)
    repeats = list(measure_again([machine], paths(TIMES), outcomes(TIMES), [], 0))
    assert machine.factor > 1.3
    for index, found in ratios(outcomes(TIMES), repeats).items():
        assert np.median(found) == pytest.approx(TIMES[index] / 100, rel=0.03)


def test_what_was_lucky_once_is_found_out() -> None:
    """And what is near the true best then, has its rounds."""
    lucky = outcomes(TIMES) | {7: Outcome("ok", 20.0, 100.0, executable="7", device="local-task")}
    repeats = list(measure_again([Machine(TIMES)], paths(TIMES), lucky, [], 0))
    found = ratios(lucky, repeats)
    assert np.median(found[7]) == pytest.approx(0.87, rel=0.03)
    assert len(found[0]) == 1 + ROUNDS + NEAR_ROUNDS


def test_a_session_goes_on_where_it_stopped() -> None:
    whole = list(measure_again([Machine(TIMES)], paths(TIMES), outcomes(TIMES), [], 0))
    known = whole[:17]
    more = list(measure_again([Machine(TIMES)], paths(TIMES), outcomes(TIMES), known, 0))
    count = Counter(r.index for r in [*known, *more])
    assert count[0] == count[1] == ROUNDS + NEAR_ROUNDS
    done = [*known, *more]
    assert not list(measure_again([Machine(TIMES)], paths(TIMES), outcomes(TIMES), done, 0))


def test_failures_and_twins_are_left_out() -> None:
    given = outcomes(TIMES) | {
        30: Outcome("ok", 50.0, 100.0, executable="0", same_as=0, device="local-task"),
        31: Outcome("compile_failed", stage="compile"),
    }
    repeats = list(measure_again([Machine(TIMES, fails=1)], paths(TIMES), given, [], 0))
    assert [r.time_us for r in repeats if r.index == 1] == [None]
    assert not {1, 30, 31} & ratios(given, repeats).keys()


def test_each_device_measures_its_own() -> None:
    here = {i: t for i, t in TIMES.items() if i % 2}
    there = {i: t for i, t in TIMES.items() if not i % 2}
    given = outcomes(here, "cuda://0") | outcomes(there, "cuda://1")
    machines = [Machine(TIMES, "cuda://0"), Machine(TIMES, "cuda://1")]
    repeats = list(measure_again(machines, paths(TIMES), given, [], 0))
    assert set(machines[0].order) == set(here) - {3}
    assert set(machines[1].order) == set(there)
    assert all(isinstance(r, Repeat) for r in repeats)
