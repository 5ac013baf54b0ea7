"""The finals: paired against a drifting, noisy device whose truth is known."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frontrunner.benchmarks.device import KernelFailed
from frontrunner.experiments.finals import Finals, accepted, run_finals

BASELINE = Path("baseline")


class DriftingDevice:
    """Slows down by half over the finals, with noise of 2 %."""

    def __init__(self, truth: dict[Path, float]) -> None:
        self.truth = truth
        self.rng = np.random.default_rng(0)
        self.calls: list[Path] = []

    def measure(self, executable: Path, seconds: float, **_: Any) -> float:
        self.calls.append(executable)
        time = self.truth[executable]
        if math.isnan(time):
            raise KernelFailed("crashed", "the kernel crashed: SIGSEGV")
        drift = 1 + 0.5 * len(self.calls) / 80
        return time * drift * (1 + 0.02 * float(self.rng.standard_normal()))

    def measure_baseline(self, seconds: float) -> float:
        return self.measure(BASELINE, seconds)


def finals(device: DriftingDevice, *times: float) -> Finals:
    paths = {i: Path(str(i)) for i in range(len(times))}
    device.truth |= {paths[i]: t for i, t in enumerate(times)}
    return run_finals(device, BASELINE, paths, rounds=12, seconds=0.0, seed=0)  # type: ignore[arg-type]


def test_speedups_are_right_in_spite_of_drift() -> None:
    result = finals(DriftingDevice({BASELINE: 100.0}), 50.0, 25.0, 98.0)
    assert [s.index for s in result.standings] == [1, 0, 2]
    assert result.standings[0].speedup == pytest.approx(4.0, rel=0.05)
    assert result.standings[1].speedup == pytest.approx(2.0, rel=0.05)
    low, high = result.standings[0].interval
    assert low < 4.0 < high
    assert 0 < result.noise_floor < 0.05


def test_the_order_changes_between_rounds_and_baselines_enclose() -> None:
    device = DriftingDevice({BASELINE: 100.0})
    finals(device, 50.0, 25.0, 98.0)
    rounds = [tuple(device.calls[i : i + 5]) for i in range(0, len(device.calls), 5)]
    assert len(rounds) == 12
    assert all(r[0] == r[-1] == BASELINE for r in rounds)
    assert len(set(rounds)) > 1


def test_nothing_slower_or_equal_is_accepted() -> None:
    for times in ((100.0, 101.0), (120.0,), (99.9,)):
        result = finals(DriftingDevice({BASELINE: 100.0}), *times)
        assert accepted(result.standings, result.noise_floor) == []
    result = finals(DriftingDevice({BASELINE: 100.0}), 80.0, 130.0)
    (winner,) = accepted(result.standings, result.noise_floor)
    assert winner.index == 0


def test_a_finalist_that_fails_now_is_out() -> None:
    result = finals(DriftingDevice({BASELINE: 100.0}), math.nan, 50.0)
    assert [s.index for s in result.standings] == [1]
    assert result.failed == ((0, "the kernel crashed: SIGSEGV"),)


def test_no_finalists_is_no_winner() -> None:
    result = finals(DriftingDevice({BASELINE: 100.0}))
    assert result.standings == ()
    assert accepted(result.standings, result.noise_floor) == []
