"""Rounds between two baselines: heats choose the fastest, rounds of its own tell how fast it is.

Rounds that choose the fastest of several flatter it: of five equal ones, with noise of 10 %, by
more than 2 %. What is reported of the winner comes from others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...core import Load
from .constants import (
    FINALS_SECONDS,
    FINALS_TURN,
    HEAT_TURN,
    HEATS_SECONDS,
    LEAST_HEATS,
    LEAST_ROUNDS,
    MAX_FINALISTS,
    MIN_RUNS,
    NOISY,
    NOISY_SECONDS,
)
from .device import Device, RunFailed
from .estimate import median_interval, noise_floor
from .finals import FinalistResult, Finals, not_measured


class _Rounds:
    """Measures candidates in rounds: on every device once, in an order that changes.

    Ratios are to the baselines before and after, of the same device and round, and are pooled over
    the devices: a winner is one on the devices together.

    Args:
        executables: by queue position.
        seconds: of a turn.
    """

    def __init__(
        self, devices: Sequence[Device], executables: Mapping[int, Path], seconds: float, seed: int
    ) -> None:
        self._devices = devices
        self._executables = executables
        self._seconds = seconds
        self._rng = np.random.default_rng(seed)
        self.count = 0
        self.failed: dict[int, str] = {}
        # Of each round on each device: the baseline before and after, and the candidates' times.
        self._baselines: list[tuple[float, float]] = []
        self._times: list[dict[int, float]] = []

    def add(self, candidates: Iterable[int]) -> None:
        """One more round.

        Raises:
            KilledError: the process of a candidate was killed from outside, twice.
        """
        self.count += 1
        for device in self._devices:
            before = device.measure_baseline(self._seconds)
            times = {}
            for index in self._rng.permutation(sorted(candidates)).tolist():
                if index not in self.failed:
                    try:
                        times[index] = device.measure(
                            self._executables[index], self._seconds, verify=self.count == 1
                        )
                    except RunFailed as failure:
                        failure.raise_if_killed(not_measured(index))
                        self.failed[index] = str(failure)
            self._baselines.append((before, device.measure_baseline(self._seconds)))
            self._times.append(times)

    def fastest(self, index: int) -> NDArray[np.float64]:
        """The times of a candidate, the fastest turn first; the mean over devices.

        Other tenants only ever slow a turn down, and at times most of them: of five turns of the
        best of 32, three took 1.1 to 5 times as long as the others, whatever stood beside them.
        """
        count = len(self._devices)
        turns = [
            sorted(times[index] for times in self._times[at::count] if index in times)
            for at in range(count)
        ]
        times: NDArray[np.float64] = np.exp(np.mean(np.log(turns), axis=0))
        return times

    def ranked(self) -> list[int]:
        """The candidates that never failed, by their two fastest turns."""
        known = {index for times in self._times for index in times} - set(self.failed)
        return sorted(known, key=lambda index: float(self.fastest(index)[:2].mean()))

    def may_be_best(self, chosen: Sequence[int]) -> list[int]:
        """Those of the chosen than which no other one was faster in three turns."""
        times = {index: self.fastest(index) for index in chosen}
        limit = min((own[2] for own in times.values()), default=0.0)
        return [index for index, own in times.items() if own[0] <= limit]

    def noise_floor(self) -> float:
        """As `Finals.noise_floor`: the baseline after over that before, or the other way round."""
        before, after = np.array(self._baselines).T
        # In every other round, whatever the number of devices.
        swapped = np.arange(len(before)) // len(self._devices) % 2 == 1
        return noise_floor(
            median_interval(np.where(swapped, before, after) / np.where(swapped, after, before))
        )

    def finals(self, standings: Iterable[int]) -> Finals:
        """What the rounds come to.

        Args:
            standings: the finalists, best first.
        """
        middle = np.mean(self._baselines, axis=1)
        return Finals(
            standings=tuple(self._standing(index, middle) for index in standings),
            baseline_us=float(np.median(middle)),
            noise_floor=self.noise_floor(),
            failed=tuple(self.failed.items()),
            load=Load.now(),
        )

    def _standing(self, index: int, middle: NDArray[np.float64]) -> FinalistResult:
        taken = [block for block, times in enumerate(self._times) if index in times]
        times_us = np.array([self._times[block][index] for block in taken])
        ratios = middle[taken] / times_us
        return FinalistResult(
            index,
            float(np.median(ratios)),
            median_interval(ratios),
            float(np.median(times_us)),
            tuple(ratios.tolist()),
            float(np.median(middle[taken])),
        )


def run_heats(devices: Sequence[Device], contenders: Mapping[int, Path], seed: int) -> Finals:
    """Measures what may be the best in short rounds, and leaves out what cannot be any more.

    Args:
        contenders: executables by queue position, the likeliest first. Of slow kernels, fewer take
            part.

    Raises:
        KilledError: the process of one was killed from outside, twice.
    """
    turns = _turns(devices, HEATS_SECONDS, HEAT_TURN)
    chosen = list(contenders)[: max(MAX_FINALISTS, turns // LEAST_HEATS - 2)]
    rounds = _Rounds(devices, contenders, HEAT_TURN, seed)
    while rounds.count < LEAST_HEATS or (len(chosen) > 1 and turns > 0):
        rounds.add(chosen)
        turns -= len(chosen) + 2
        chosen = [index for index in chosen if index not in rounds.failed]
        if rounds.count >= LEAST_HEATS:
            chosen = rounds.may_be_best(chosen)
    return rounds.finals(rounds.ranked()[:MAX_FINALISTS])


def confirm(devices: Sequence[Device], index: int, executable: Path, seed: int) -> Finals:
    """Measures one finalist against the default, in more rounds where the machine is noisy.

    Raises:
        KilledError: its process was killed from outside, twice.
    """
    rounds = _Rounds(devices, {index: executable}, FINALS_TURN, seed)
    block = max(LEAST_ROUNDS, _turns(devices, FINALS_SECONDS, FINALS_TURN) // 3)
    most = _turns(devices, NOISY_SECONDS, FINALS_TURN) // 3
    while not rounds.count or (rounds.noise_floor() > NOISY and rounds.count + block <= most):
        for _ in range(block):
            rounds.add([index])
        if rounds.failed:
            return rounds.finals([])
    return rounds.finals([index])


def _turns(devices: Sequence[Device], seconds: float, turn: float) -> int:
    """How many turns there is time for, each on all devices one after the other.

    Args:
        turn: seconds of a turn on one device, which is some runs at least.
    """
    slowest = max(device.baseline_us for device in devices) / 1e6
    return int(seconds / len(devices) / max(turn, (MIN_RUNS + 1) * slowest))
