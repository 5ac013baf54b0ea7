"""The last word on finalists: measured again, interleaved with the baseline, round by round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..benchmarks.device import Device, KernelFailed

Ratios = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Standing:
    """A finalist against the baseline.

    Attributes:
        speedup: median over the rounds of baseline time over own time.
        interval: of the speedup, 95 %, by bootstrap over the rounds.
        time_us: median over the rounds.
    """

    index: int
    speedup: float
    interval: tuple[float, float]
    time_us: float


@dataclass(frozen=True)
class Finals:
    """Finalists, fastest first.

    Attributes:
        noise_floor: how far the median ratio of the baseline against itself, measured in the same
            rounds, strays from 1 (95 %): no smaller difference means anything.
        failed: finalists that did not run this time, with the reason.
    """

    standings: tuple[Standing, ...]
    baseline_us: float
    noise_floor: float
    failed: tuple[tuple[int, str], ...] = ()


def run_finals(
    device: Device,
    baseline: Path,
    finalists: Mapping[int, Path],
    *,
    rounds: int,
    seconds: float,
    seed: int,
) -> Finals:
    """Measures every finalist once per round, in an order that changes, between two baselines.

    Args:
        finalists: executables by queue position.
        seconds: per measurement.
    """
    rng = np.random.default_rng(seed)
    before: list[float] = []
    after: list[float] = []
    times: dict[int, list[float]] = {index: [] for index in finalists}
    failed: list[tuple[int, str]] = []
    for _ in range(rounds):
        before.append(device.measure_baseline(seconds))
        for index in rng.permutation(sorted(times)):
            try:
                time_us = device.measure(finalists[int(index)], seconds)
                times[int(index)].append(time_us)
            except KernelFailed as failure:
                failed.append((int(index), str(failure)))
                del times[int(index)]
        after.append(device.measure(baseline, seconds, verify=False))
    first, last = np.array(before), np.array(after)
    middle = (first + last) / 2
    standings = []
    for index, samples in times.items():
        ratios = middle / np.array(samples)
        low, high = _interval(ratios, rng)
        speedup = float(np.median(ratios))
        standings.append(Standing(index, speedup, (low, high), float(np.median(samples))))
    low, high = _interval(last / first, rng)
    return Finals(
        standings=tuple(sorted(standings, key=lambda s: -s.speedup)),
        baseline_us=float(np.median(middle)),
        noise_floor=max(1 - low, high - 1, 0.0),
        failed=tuple(failed),
    )


def _interval(ratios: Ratios, rng: np.random.Generator, draws: int = 2000) -> tuple[float, float]:
    """A 95 % bootstrap interval of the median."""
    picks = rng.integers(0, len(ratios), (draws, len(ratios)))
    low, high = np.quantile(np.median(ratios[picks], axis=1), [0.025, 0.975])
    return float(low), float(high)


def accepted(standings: Sequence[Standing], noise_floor: float) -> list[Standing]:
    """The finalists that beat the baseline by more than noise explains, fastest first."""
    return [s for s in standings if s.interval[0] > 1.0 and s.speedup > 1.0 + noise_floor]
