"""A device as the tuner sees it: a process that measures, restarted when a kernel kills it."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...core import (
    CHILD_FAILED,
    Child,
    ChildDied,
    ChildKilled,
    ChildTimeout,
    InputError,
    KilledError,
    WorkError,
    first_line,
)
from ..verifying import Call, Reference
from .chips import DOCTOR_HINT, check_uris, computes_here, shares_cores
from .kernel import MeasureRequest, SetupRequest
from .outcome import CRASHED, KILLED, TIMEOUT, WRONG_RESULT
from .timing import Timing

# A reference in NumPy is part of it: of 4096 cubed, 6 s, and of integers without BLAS 140 s.
SETUP_TIMEOUT = 600.0
# Seconds beyond what the baseline needs: a candidate slower than 50 baselines has lost anyway.
GRACE, SLOWEST = 5.0, 50.0
# A GPU's driver compiles a kernel when it first runs: lavapipe took up to 8 s.
DRIVER_COMPILE_SECONDS = 30.0
# Of comparing each value of the outputs, of which a kernel's time says nothing.
COMPARE_SECONDS = 100e-9
# Other tenants of a machine only ever slow a run down. Over 30 repeats of 60 ms on a shared one,
# the 10th percentile of the runs varied by 15 %, their median by 30 %; the ratios of both agreed.
TIMING_QUANTILE = 0.1
# glibc returns large blocks to the system after each run by default, and the page faults of the
# next one would be timed: 1 to 2 ms for a 16 MB result, 18 of the 75 ms of a UNet that computes in
# 67 MB. A threshold for mmap would not do: before 2.35, it takes at most 32 MiB.
KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**33)}

# What NumPy, the runtime and drivers say where memory is short, which a kernel has no part in: of
# what it takes itself, such as shared memory, they say other things.
_NO_MEMORY = re.compile(
    r"MemoryError|bad_alloc|Cannot allocate memory|OUT_OF_\w*MEMORY|hipErrorOutOfMemory"
    r"|allocator failed the request"
)

# What HIP says of a queue that failed, which it mostly did for want of memory
# (https://github.com/iree-org/iree/issues/20412): a new process has all of it.
_ABORTED = "the semaphore was aborted"

HANDLER = "frontrunner.benchmarks.measuring.kernel:answer"


class RunFailed(Exception):
    """There is no time, since running failed; `kind` is an outcome's."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind

    def raise_if_killed(self, what: str) -> None:
        """Raises if the process was killed from outside: for what a run cannot go on without.

        Raises:
            KilledError: the process was killed, so that nothing is known of it.
        """
        if self.kind == KILLED:
            raise KilledError(f"{what}: {self}") from self


class Device:
    """Measures executables of one dispatch on one device.

    Args:
        uri: an IREE device, such as `local-task` or `cuda://0`.
        baseline: the executable whose outputs are the expected ones; None if nothing is verified,
            or an operation computes them.
        name: what it is called in outcomes, where the URI does not tell it from others.
        child: the process that measures, if it is not to be one of this machine.

    Raises:
        InputError: there is no such driver.
    """

    def __init__(
        self,
        uri: str,
        call: Call,
        baseline: Path | None,
        seed: int,
        *,
        name: str = "",
        child: Child | None = None,
    ) -> None:
        check_uris([uri])
        self.uri = uri
        self.name = name or uri
        # Whether what it measures has the cores of whoever asks it.
        self.shares_cores = child is None and computes_here(uri)
        self._setup = SetupRequest(uri, call, baseline, seed)
        self._child = child or Child(HANDLER, env=KEEP_MEMORY)
        self.baseline_us = 0.0

    def switch_dispatch(self, call: Call, operation: Reference | None) -> None:
        """Switches the process to another dispatch; a new process takes 0.5 s to start.

        Args:
            operation: what tells what is right; None if nobody asks.

        Raises:
            WorkError: the device does not answer, or has no room for the inputs.
        """
        setup = replace(self._setup, call=call, operation=operation)
        if setup != self._setup or not self._child.running:
            self._setup = setup
            self.start()

    def start(self) -> None:
        """Runs the baseline once, if there is one; its outputs are the reference.

        Raises:
            InputError: the inputs do not fit into the memory of the device's machine.
            WorkError: the device does not answer, or the baseline does not run, or gives nothing to
                compare with.
            KilledError: the process was killed from outside, twice.
        """
        what = "run the compiler's default" if self._setup.baseline else "hold the inputs"
        try:
            self._child.call_with_retry(self._setup, timeout=SETUP_TIMEOUT)
        except ChildKilled as death:
            raise KilledError(
                f"device {self.name} cannot {what}: its process was {death}, twice"
            ) from death
        except (InputError, WorkError):
            self._child.close()  # it is set up for nothing
            raise
        except CHILD_FAILED as error:
            self._child.close()
            first = first_line(error)
            raise WorkError(f"device {self.name} cannot {what}: {first}", DOCTOR_HINT) from error

    def measure_baseline(self, seconds: float) -> float:
        """Times the compiler's default now, in microseconds.

        Raises:
            WorkError: it does not run, not even the second time.
            KilledError: the process was killed from outside, twice.
        """
        assert self._setup.baseline is not None, "there is none to time"
        for last in (False, True):
            try:
                self.baseline_us = self.measure(self._setup.baseline, seconds, verify=False)
                break
            except RunFailed as failure:
                failure.raise_if_killed(f"device {self.name} cannot run the compiler's default")
                if last:
                    raise WorkError(
                        f"device {self.name} cannot run the compiler's default: {failure}",
                        "see `frontrunner doctor`; the run can be resumed",
                    ) from failure
        return self.baseline_us

    def measure(
        self,
        executable: Path,
        seconds: float,
        *,
        verify: bool = True,
        give_up_us: float = math.inf,
    ) -> float:
        """The time of a run, in microseconds.

        Args:
            seconds: how long to time.
            verify: whether to compare the outputs with what is right first.
            give_up_us: a first few runs slower than this are enough.

        Raises:
            RunFailed: the kernel crashed, hung or computed something else, or its process was
                killed from outside, twice, or had too little memory.
        """
        samples = self.measure_samples(MeasureRequest(executable, seconds, give_up_us, verify))
        return float(np.quantile(samples, TIMING_QUANTILE))

    def measure_samples(self, request: MeasureRequest) -> tuple[float, ...]:
        """The time of each run, in microseconds.

        Raises:
            RunFailed: as `measure`.
        """
        try:
            timing = self._time(request)
        except ChildKilled as death:
            raise RunFailed(KILLED, f"the kernel's process was {death}, twice") from death
        except ChildDied as death:
            first = first_line(death)
            raise RunFailed(CRASHED, f"the kernel crashed: {first}") from death
        except ChildTimeout as late:
            raise RunFailed(TIMEOUT, f"the kernel gave {late}") from late
        except RuntimeError as error:
            if _NO_MEMORY.search(str(error)):
                self._child.close()
                raise RunFailed(KILLED, f"memory was short: {first_line(error)}") from error
            if not shares_cores(self.uri):
                # After a fault in a kernel, a GPU's context refuses whatever comes next.
                self._child.close()
            raise RunFailed(CRASHED, f"the runtime refused: {error}") from error
        if timing.wrong is not None:
            raise RunFailed(WRONG_RESULT, timing.wrong)
        return timing.samples_us

    def close(self) -> None:
        self._child.close()

    def _time(self, request: MeasureRequest) -> Timing:
        """What the process answers; if it is killed, or its queue is, a new one is asked.

        Raises:
            ChildKilled: that one was killed, too.
        """
        limit = time_limit(request.seconds, self.baseline_us)
        if not shares_cores(self.uri):
            limit += DRIVER_COMPILE_SECONDS
        if request.verify:
            outputs = self._setup.call.outputs
            limit += COMPARE_SECONDS * sum(math.prod(shape) for shape, _ in outputs)
        for last in (False, True):
            if not self._child.running:
                self.start()
            try:
                timing: Timing = self._child.call(request, timeout=limit)
                break
            except ChildKilled:
                if last:
                    raise
            except RuntimeError as error:
                if last or _ABORTED not in str(error):
                    raise
                self._child.close()
        return timing


def time_limit(seconds: float, baseline_us: float) -> float:
    """Seconds after which a measurement of so many seconds is given up.

    Args:
        baseline_us: time of the compiler's default; 0 if that is not known yet.
    """
    return GRACE + seconds + 4 * SLOWEST * (baseline_us or 1e6) / 1e6
