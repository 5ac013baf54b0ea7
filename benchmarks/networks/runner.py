"""Whole models as the tuner sees them: variants of one are compared and timed in turn."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core import (
    CHILD_FAILED,
    Child,
    ChildDied,
    ChildKilled,
    ChildTimeout,
    KilledError,
    WorkError,
    child_errors,
    first_line,
)
from ..measuring import (
    DOCTOR_HINT,
    KEEP_MEMORY,
    LEAST_RACE_ROUNDS,
    RACE_ROUNDS,
    RACE_SECONDS,
    TURN_SECONDS,
    median_interval,
    noise_floor,
)
from .kernel import CompareRequest, FiniteRequest, NetworkSetup, RaceRequest
from .profiling import RUNS, DispatchTime, ProfileRequest
from .profiling import TIMEOUT as PROFILE_TIMEOUT

SETUP_TIMEOUT = 300.0
TIMEOUT = 600.0
# What was timed once is given so many seconds, and so many times what all of its runs should take.
GRACE, SLOWEST = 60.0, 50.0
# What the processes run that measure whole models, and that profile them.
RACER = "frontrunner.benchmarks.networks.kernel:answer"
PROFILER = "frontrunner.benchmarks.networks.profiling:answer"
INPUTS_HINT = "give inputs as the model takes them (--input)"
# Of the speedup: an interval that is narrower is exact enough. One that is beyond 1.1 is clear.
EXACT, CLEAR = 0.04, 1.1

MakeChild = Callable[[str, Mapping[str, str]], Child]


class NetworkFailed(Exception):
    """A variant of the model did not run, or computed something else."""


@dataclass(frozen=True)
class Speedup:
    """How much faster one variant is than another.

    Attributes:
        speedup: median over the rounds of the ratio of times.
        interval: of the speedup, 95 %: see `median_interval`.
        before_us, after_us: medians of the times.
        noise_floor: how far the median ratio of the first variant to itself, measured in the same
            rounds, strays from 1 (95 %).
        ratios: of each round, of which the speedup is the median.
    """

    speedup: float
    interval: tuple[float, float]
    before_us: float
    after_us: float
    noise_floor: float
    ratios: tuple[float, ...]

    @property
    def is_known(self) -> bool:
        """Whether further rounds would change little: it is exact, or far from 1."""
        low, high = self.interval
        return high - low < EXACT * self.speedup or low > CLEAR or high < 1 / CLEAR

    @property
    def beyond_noise(self) -> bool:
        """Whether the second variant is faster by more than noise explains."""
        return self.interval[0] > 1.0 and self.speedup > 1 + self.noise_floor


class NetworkRunner:
    """Runs variants of a model on one device, in a process of its own.

    Args:
        setup: what all variants have in common.
        make_child: what makes the processes that run a handler, if not of this machine.
    """

    def __init__(self, setup: NetworkSetup, make_child: MakeChild = Child) -> None:
        self.setup, self.make_child = setup, make_child
        self._run_s = math.inf
        self._round_s = TURN_SECONDS  # of a race, with what is loaded for it
        self._child = make_child(RACER, KEEP_MEMORY)
        self._profiler = make_child(PROFILER, KEEP_MEMORY)

    def profile(self, executable: Path, runs: float = RUNS) -> list[DispatchTime]:
        """As `profile`, where the model runs."""
        request = ProfileRequest(executable, self.setup, runs)
        # A host of a cluster ends processes that nobody asks for long.
        limit = 2 * PROFILE_TIMEOUT * len(self.setup.calls)
        failed = "the model cannot be profiled"
        with child_errors("the profile of the model", WorkError, failed):
            found: list[DispatchTime] = self._profiler.call_with_retry(request, limit)
        return found

    def compare_outputs(self, variant: Path, expected: Path, sets: int | None = None) -> None:
        """Compares outputs.

        Args:
            sets: on how many sets of inputs, of each call; None for all.

        Raises:
            NetworkFailed: they differ, or a variant does not run.
            KilledError: the process was killed from outside.
        """
        wrong = self._ask(CompareRequest(variant, expected, sets))
        if wrong is not None:
            raise NetworkFailed(f"wrong results: {wrong}")

    def without_finite(self, variant: Path) -> list[str]:
        """Outputs that hold nothing but infinity and NaN: any other variant's may be as wrong.

        Raises:
            NetworkFailed: it does not run.
            KilledError: the process was killed from outside.
        """
        found: list[str] = self._ask(FiniteRequest(variant))
        return found

    def check_comparable(self, default: Path) -> list[str]:
        """Sees that there is something to compare outputs with; tells as `without_finite`.

        Raises:
            WorkError: no output has a finite value, the model gives other outputs when it is called
                again, or does not run.
            KilledError: the process was killed from outside.
        """
        try:
            without = self.without_finite(default)
        except NetworkFailed as failure:
            raise WorkError(f"the model does not run: {failure}", "see its memory") from failure
        if len(without) == sum(len(call.inputs) * len(call.outputs) for call in self.setup.calls):
            raise WorkError(
                "the model gives nothing but infinity or NaN, so any candidate would seem right",
                INPUTS_HINT,
            )
        return without

    def measure_speedup(
        self, before: Path, after: Path, seed: int, rounds: int = RACE_ROUNDS, patience: float = 0.0
    ) -> Speedup:
        """How much faster one variant is than another, measured in turn.

        Args:
            patience: seconds for further rounds, until the speedup is known well, whatever it is:
                going on only while it is not yet what one hopes for would flatter it.

        Raises:
            NetworkFailed: one of them does not run.
            KilledError: the process was killed from outside.
        """
        until = time.monotonic() + patience
        times = np.empty((0, 3))
        rounds = min(rounds, max(int(RACE_SECONDS / self._round_s), LEAST_RACE_ROUNDS))
        while True:
            begun = time.monotonic()
            race = RaceRequest((before, before, after), rounds, TURN_SECONDS, seed + len(times))
            times = np.vstack([times, np.array(self._ask(race))])
            self._round_s = max(TURN_SECONDS, (time.monotonic() - begun) / rounds)
            found = _gain(times)
            # A call that counts for less than one takes as long all the same.
            least = min((call.weight for call in self.setup.calls if call.weight), default=1.0)
            self._run_s = found.before_us / 1e6 / min(1.0, least)
            if found.is_known or time.monotonic() > until:
                return found

    def time_once(self, variant: Path) -> float:
        """The microseconds that a run takes, of few.

        Raises:
            WorkError: it does not run.
            KilledError: the process was killed from outside.
        """
        try:
            return self.measure_speedup(variant, variant, seed=0, rounds=1).before_us
        except NetworkFailed as failure:
            hint = "see that iree-run-module runs it"
            raise WorkError(f"the model does not run: {failure}", hint) from failure

    def close(self) -> None:
        with closing(self._profiler):  # also where the other one does not end
            self._child.close()

    def __enter__(self) -> NetworkRunner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, request: CompareRequest | RaceRequest | FiniteRequest) -> Any:
        limit = self._limit(request)
        try:
            if not self._child.running:
                self._start()
            try:
                return self._child.call(request, timeout=limit)
            except ChildKilled:
                self._start()  # the new process knows no model yet
                return self._child.call(request, timeout=limit)
        except ChildKilled as death:
            raise KilledError(f"the model's process was {death}") from death
        except ChildDied as death:
            first = first_line(death)
            raise NetworkFailed(f"the model crashed: {first}") from death
        except ChildTimeout as late:
            raise NetworkFailed(f"the model gave {late}") from late
        except RuntimeError as error:
            self._child.close()
            raise NetworkFailed(f"the runtime refused: {error}") from error

    def _limit(self, request: CompareRequest | RaceRequest | FiniteRequest) -> float:
        """Seconds: as long for each run as the first check allows it, until one was timed."""
        rounds, run_s = 1, self._run_s
        runs = 2 * max(len(call.inputs) for call in self.setup.calls)
        if isinstance(request, RaceRequest):
            rounds, run_s = request.rounds, TURN_SECONDS + self._run_s
            runs = rounds * len(request.variants)
        elif isinstance(request, CompareRequest) and request.sets is not None:
            runs = min(runs, 2 * request.sets)
        return min(
            TIMEOUT * len(self.setup.calls) * (1 + rounds) / 2, GRACE + SLOWEST * runs * run_s
        )

    def _start(self) -> None:
        """
        Raises:
            WorkError: the device does not answer, or parameters cannot be loaded.
            ChildKilled: the process was killed.
        """
        try:
            self._child.call(self.setup, timeout=SETUP_TIMEOUT)
        except ChildKilled:
            raise
        except CHILD_FAILED as error:
            self._child.close()
            first = first_line(error)
            raise WorkError(
                f"device {self.setup.device} cannot be used: {first}", DOCTOR_HINT
            ) from error


def _gain(times: npt.NDArray[np.float64]) -> Speedup:
    """What rounds of the first variant, itself again, and the second one come to."""
    first, twin, second = times.T
    middle = np.sqrt(first * twin)
    ratios = middle / second
    return Speedup(
        float(np.median(ratios)),
        median_interval(ratios),
        float(np.median(middle)),
        float(np.median(second)),
        noise_floor(median_interval(twin / first)),
        tuple(ratios.tolist()),
    )
