"""Measures candidates again, in interleaved rounds, until the near-optimal set is not noise.

A candidate that was measured once may be near the best by luck. For a recording, all that are not
hopeless are measured in two more rounds, and all within 15 % of the best in eighteen more; each
round has an order of its own, with the baseline measured every few candidates, before and after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .device import Device, KernelFailed, shares_cores
from .measuring import HOPELESS
from .outcome import OK, Outcome
from .together import together

ROUNDS = 2
NEAR = 1.15
# How far the median of n measurements is from that of n others, on a shared machine of two cores:
# 5.0 % for n = 5, 3.7 % for 8, 2.6 % for 20. Near-optimal means within 5 %.
NEAR_ROUNDS = 18
SECONDS = 0.04
BASELINE_SECONDS = 0.06
# Candidates between two baselines: half a second, in which a machine has not drifted far.
BATCH = 8


@dataclass(frozen=True)
class Repeat:
    """One more measurement of a candidate.

    Attributes:
        index: its place in the queue.
        time_us: None if it failed this time.
        baseline_us: mean of those before and after its batch.
    """

    index: int
    time_us: float | None
    baseline_us: float

    @property
    def ratio(self) -> float | None:
        return None if self.time_us is None else self.time_us / self.baseline_us

    def to_record(self) -> dict[str, Any]:
        return {"repeat": asdict(self)}


def ratios(outcomes: Mapping[int, Outcome], repeats: Sequence[Repeat]) -> dict[int, list[float]]:
    """All times of candidates that were measured, as shares of the baseline's.

    A candidate that ever failed is left out, and so is one that another stands for.
    """
    found = {
        index: [outcome.relative]
        for index, outcome in outcomes.items()
        if outcome.kind == OK and outcome.same_as is None and outcome.relative is not None
    }
    for repeat in repeats:
        if repeat.ratio is None:
            found.pop(repeat.index, None)
        elif repeat.index in found:
            found[repeat.index].append(repeat.ratio)
    return found


def measure_again(
    devices: Sequence[Device],
    executables: Mapping[int, Path],
    outcomes: Mapping[int, Outcome],
    known: Sequence[Repeat],
    seed: int,
) -> Iterator[Repeat]:
    """Measures candidates until each has the rounds that its time calls for.

    Args:
        executables: by queue position.
        known: measurements of an earlier session.
        seed: of the orders.
    """
    repeats = list(known)
    while chosen := _due(outcomes, repeats):
        order = np.random.default_rng([seed, len(repeats)]).permutation(sorted(chosen))
        lanes = [
            _lane(device, [int(i) for i in order if outcomes[int(i)].device == device.uri],
                  executables)
            for device in devices
        ]  # fmt: skip
        if any(shares_cores(device.uri) for device in devices):
            found: Iterator[Repeat] = (repeat for lane in lanes for repeat in lane)
        else:
            found = together(lanes)
        for repeat in found:
            repeats.append(repeat)
            yield repeat


def _due(outcomes: Mapping[int, Outcome], repeats: Sequence[Repeat]) -> set[int]:
    """Candidates that have not had all their rounds."""
    times = {index: (float(np.median(r)), len(r) - 1) for index, r in
             ratios(outcomes, repeats).items()}  # fmt: skip
    best = min((time for time, _ in times.values()), default=0.0)
    due = set()
    for index, (time, rounds) in times.items():
        wanted = ROUNDS if time <= HOPELESS * best else 0
        wanted += NEAR_ROUNDS if time <= NEAR * best else 0
        if rounds < wanted:
            due.add(index)
    return due


def _lane(
    device: Device, order: Sequence[int], executables: Mapping[int, Path]
) -> Iterator[Repeat]:
    """One device's part of a round."""
    if not order:
        return
    before = device.measure_baseline(BASELINE_SECONDS)
    for start in range(0, len(order), BATCH):
        times: dict[int, float | None] = {}
        for index in order[start : start + BATCH]:
            try:
                times[index] = device.measure(executables[index], SECONDS, verify=False)
            except KernelFailed:
                times[index] = None
        after = device.measure_baseline(BASELINE_SECONDS)
        for index, time_us in times.items():
            yield Repeat(index, time_us, (before + after) / 2)
        before = after
