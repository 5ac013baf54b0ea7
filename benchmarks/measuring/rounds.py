"""Measures candidates again, in interleaved rounds, until the near-optimal set is not noise.

A candidate that was measured once may be near the best by luck, or not by bad luck. For a
recording, all that are not hopeless are measured in three rounds, and all that may be within 15 %
of the best in forty. A round takes its candidates in an order of its own, in blocks that begin with
the baseline; what a block has in common is drift, and taken out (see `estimate`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from ...core import merge_in_threads
from .constants import (
    BLOCK_SIZE,
    DOUBT_STANDARD_ERRORS,
    GIVE_UP_RATIO,
    NEAR_ROUNDS,
    RECORD_ROUNDS,
    RECORD_SECONDS,
    REMEASURE_RATIO,
)
from .device import Device, RunFailed
from .estimate import Estimate, Repeat, estimates
from .outcome import BASELINE, KILLED, OK, Outcome


def estimate_times(
    outcomes: Mapping[int, Outcome], repeats: Sequence[Repeat]
) -> dict[int, Estimate]:
    """Estimates of the times of all candidates that ran, by queue position.

    Those that ever failed, or that share another one's executable, have none.
    """
    known = estimates(repeats)
    failed = {repeat.index for repeat in repeats if repeat.time_us is None}
    return {
        index: known.get(index) or Estimate.of_one(outcome.relative)
        for index, outcome in outcomes.items()
        if outcome.kind == OK and outcome.same_as is None and outcome.relative is not None
        if index not in failed
    }


def measure_again(
    devices: Sequence[Device],
    executables: Mapping[int, Path],
    outcomes: Mapping[int, Outcome],
    known: Sequence[Repeat],
    seed: int,
    on_round: Callable[[int], None] = lambda left: None,
) -> Iterator[Repeat]:
    """Measures candidates until each has the rounds that its time calls for.

    One whose process is killed from outside, twice, is left at what is known of it.

    Args:
        executables: by queue position.
        known: measurements of an earlier session.
        seed: of the orders.
        on_round: told before each round how many candidates it has.
    """
    repeats = list(known)
    killed: set[int] = set()
    while chosen := _needing_rounds(estimate_times(outcomes, repeats)) - killed:
        on_round(len(chosen))
        order = np.random.default_rng([seed, len(repeats)]).permutation(sorted(chosen)).tolist()
        lanes = [
            _measure_on_device(
                device,
                [index for index in order if outcomes[index].device == device.name],
                executables,
                1 + max((r.block for r in repeats if r.device == device.name), default=-1),
                killed,
            )
            for device in devices
        ]
        if any(device.shares_cores for device in devices):
            found: Iterator[Repeat] = (repeat for lane in lanes for repeat in lane)
        else:
            found = merge_in_threads(lanes)
        for repeat in found:
            repeats.append(repeat)
            yield repeat


def _needing_rounds(known: Mapping[int, Estimate]) -> set[int]:
    """Candidates that have not had all their rounds."""
    fastest = min((one.relative for one in known.values()), default=0.0)
    # The best at worst: what is not within reach of this is not near-optimal.
    best_at_worst = min(
        (one.relative * (1 + DOUBT_STANDARD_ERRORS * one.error) for one in known.values()),
        default=0.0,
    )
    due = set()
    for index, one in known.items():
        rounds_needed = RECORD_ROUNDS if one.relative <= GIVE_UP_RATIO * fastest else 0
        if (
            one.relative * (1 - DOUBT_STANDARD_ERRORS * one.error)
            <= REMEASURE_RATIO * best_at_worst
        ):
            rounds_needed = NEAR_ROUNDS
        if one.rounds < rounds_needed:
            due.add(index)
    return due


def _measure_on_device(
    device: Device,
    order: Sequence[int],
    executables: Mapping[int, Path],
    block: int,
    killed: set[int],
) -> Iterator[Repeat]:
    """One device's part of a round.

    Args:
        killed: gets those whose process was killed.
    """
    for start in range(0, len(order), BLOCK_SIZE):
        time_us: float | None = device.measure_baseline(RECORD_SECONDS)
        yield Repeat(BASELINE, time_us, block, device.name)
        for index in order[start : start + BLOCK_SIZE]:
            try:
                time_us = device.measure(executables[index], RECORD_SECONDS, verify=False)
            except RunFailed as failure:
                if failure.kind == KILLED:
                    killed.add(index)
                    continue
                time_us = None
            yield Repeat(index, time_us, block, device.name)
        block += 1
