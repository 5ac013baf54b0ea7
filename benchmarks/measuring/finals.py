"""The finals: the best candidates are measured again, interleaved with the baseline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...core import Notify
from ..verifying import Call
from .constants import FINALS_ROUNDS, FINALS_SECONDS, MAX_FINALISTS, SLOW_US
from .device import Device, RunFailed
from .outcome import OK, Outcome

if TYPE_CHECKING:
    from .runner import MeasuringRunner

# Added to the seed when the winner is verified, so that its inputs are not those of the search.
OTHER_INPUTS = 1_000_003

Ratios = npt.NDArray[np.float64]


@dataclass(frozen=True)
class FinalistResult:
    """A finalist against the baseline.

    Attributes:
        speedup: median over the rounds of baseline time over own time, on the same device.
        interval: of the speedup, 95 %, by bootstrap over the rounds.
        time_us: median over the rounds.
        ratios: of each round, of which the speedup is the median; none in older files.
    """

    index: int
    speedup: float
    interval: tuple[float, float]
    time_us: float
    ratios: tuple[float, ...] = ()


@dataclass(frozen=True)
class Finals:
    """Finalists, fastest first.

    Attributes:
        noise_floor: how far the median ratio of the baseline against itself, measured in the same
            rounds, strays from 1 (95 %): no smaller difference means anything.
        failed: finalists that did not run this time, with the reason.
    """

    standings: tuple[FinalistResult, ...]
    baseline_us: float
    noise_floor: float
    failed: tuple[tuple[int, str], ...] = ()

    def with_failed(self, failed: Sequence[tuple[int, str]]) -> Finals:
        """The same, with finalists that could not take part."""
        return replace(self, failed=(*self.failed, *failed))


def choose_finalists(outcomes: Mapping[int, Outcome]) -> list[int]:
    """The best candidates of all devices, by queue position; of identical ones the best."""
    ranked = sorted(
        (outcome.relative, index)
        for index, outcome in outcomes.items()
        if outcome.kind == OK and outcome.same_as is None and outcome.relative is not None
    )
    distinct: dict[str, int] = {}
    for _, index in ranked:
        distinct.setdefault(outcomes[index].executable, index)
    return list(distinct.values())[:MAX_FINALISTS]


def choose_winner(
    runner: MeasuringRunner,
    outcomes: Mapping[int, Outcome],
    spec: Callable[[FinalistResult, Finals], str],
    on_phase: Callable[[str], None],
    notify: Notify,
) -> tuple[Finals, FinalistResult | None]:
    """Measures the best again; the fastest that beats the baseline and is also right wins, if any.

    Args:
        spec: the tuning spec of a finalist, as it will be written.
        on_phase: told what begins.
        notify: told which finalists failed.

    Raises:
        KilledError: the process of a finalist was killed from outside, twice.
    """
    finalists = choose_finalists(outcomes)
    on_phase(f"measuring {len(finalists)} finalists against the default")
    finals = runner.finals(finalists, outcomes)
    for index, reason in finals.failed:
        notify(f"finalist {index + 1} failed: {reason}")
    for standing in accepted(finals.standings, finals.noise_floor):
        on_phase("verifying the winner")
        try:
            runner.verify(standing.index, spec(standing, finals))
        except RunFailed as failure:
            failure.raise_if_killed(_not_measured(standing.index))
            notify(f"finalist {standing.index + 1} failed: {failure}")
        else:
            return finals, standing
    return finals, None


def run_finals(
    devices: Sequence[Device],
    finalists: Mapping[int, Path],
    seed: int,
    *,
    rounds: int | None = None,
    seconds: float | None = None,
) -> Finals:
    """Measures every finalist once per round, in an order that changes, between two baselines.

    Every device makes all rounds. Ratios are to the baseline of the same device and round, and are
    pooled: a winner is one on the devices together.

    Args:
        finalists: executables by queue position.
        rounds: fewer for slow kernels if None.
        seconds: per measurement; the usual ones if None.

    Raises:
        KilledError: as `choose_winner`.
    """
    seconds = FINALS_SECONDS if seconds is None else seconds
    if rounds is None:
        slow = max(device.baseline_us for device in devices) >= SLOW_US
        rounds = FINALS_ROUNDS // 2 if slow else FINALS_ROUNDS
    rng = np.random.default_rng(seed)
    before: list[float] = []
    after: list[float] = []
    times: dict[int, list[float]] = {index: [] for index in finalists}
    failed: list[tuple[int, str]] = []
    for _ in range(rounds):
        for device in devices:
            before.append(device.measure_baseline(seconds))
            for index in rng.permutation(sorted(times)):
                try:
                    time_us = device.measure(finalists[int(index)], seconds)
                    times[int(index)].append(time_us)
                except RunFailed as failure:
                    failure.raise_if_killed(_not_measured(int(index)))
                    failed.append((int(index), str(failure)))
                    del times[int(index)]
            after.append(device.measure_baseline(seconds))
    first, last = np.array(before), np.array(after)
    middle = (first + last) / 2
    standings = []
    for index, samples in times.items():
        ratios = middle / np.array(samples)
        low, high = bootstrap_interval(ratios, rng)
        speedup, time_us = float(np.median(ratios)), float(np.median(samples))
        standings.append(
            FinalistResult(index, speedup, (low, high), time_us, tuple(ratios.tolist()))
        )
    low, high = bootstrap_interval(last / first, rng)
    return Finals(
        standings=tuple(sorted(standings, key=lambda s: -s.speedup)),
        baseline_us=float(np.median(middle)),
        noise_floor=max(1 - low, high - 1, 0.0),
        failed=tuple(failed),
    )


def accepted(standings: Sequence[FinalistResult], noise_floor: float) -> list[FinalistResult]:
    """The finalists that beat the baseline by more than noise explains, fastest first."""
    return [s for s in standings if s.interval[0] > 1.0 and s.speedup > 1.0 + noise_floor]


def verify_on_other_inputs(
    uris: Sequence[str], call: Call, baseline: Path, executable: Path, seed: int
) -> None:
    """Compares outputs with the baseline's, on inputs that the search has not seen.

    Args:
        seed: of the search.

    Raises:
        RunFailed: they differ, or the executable does not run.
    """
    for uri in uris:
        device = Device(uri, call, baseline, seed + OTHER_INPUTS)
        try:
            device.start()
            device.measure(executable, 0.0)
        finally:
            device.close()


def _not_measured(index: int) -> str:
    return f"finalist {index + 1} was not measured"


def bootstrap_interval(
    ratios: Ratios, rng: np.random.Generator, draws: int = 2000
) -> tuple[float, float]:
    """A 95 % bootstrap interval of the median."""
    picks = rng.integers(0, len(ratios), (draws, len(ratios)))
    low, high = np.quantile(np.median(ratios[picks], axis=1), [0.025, 0.975])
    return float(low), float(high)
