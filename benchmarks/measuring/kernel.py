"""The child's side of measuring: a runtime that stays up, loads executables, runs and times them.

One such process serves one device. It holds the inputs and the outputs that are right, so that a
candidate costs a load, a verifying run and the timed runs, nothing more.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import iree.runtime as rt

from ...core import WorkError
from ..verifying import (
    Array,
    Call,
    Reference,
    Verification,
    check_memory,
    make_inputs,
    make_positive,
    without_finite,
)
from .buffers import copy_to_device, copy_to_host
from .chips import DOCTOR_HINT, give_back, identify, is_software, open_device, shares_cores
from .constants import MIN_RUNS, REPEATED_US
from .timing import Timing, time_runs

# A first run is slower than those that follow, but not by this much.
COLD = 3.0
# Added to the seed for inputs that are run, and never compared.
OTHER_VALUES = 2_000_003
# A run of 30 us may last as long as another process's turn on the core: 3 to 12 ms were seen. What
# is no longer than this is not given up after one run.
SLICE_US = 50_000.0


@dataclass(frozen=True)
class SetupRequest:
    """What a device process needs before it can measure candidates.

    Attributes:
        baseline: whose outputs are what is right; None if the operation says so.
        operation: what is computed; None if only the baseline knows what is right, or nobody asks.
    """

    device: str
    call: Call
    baseline: Path | None
    seed: int
    operation: Reference | None = None


@dataclass(frozen=True)
class MeasureRequest:
    """A request to load an executable, compare its outputs with the expected ones, and time it.

    Attributes:
        seconds: how long to time; at least `MIN_RUNS` runs are made.
        give_up_us: what is slower than this is not timed any longer.
        verify: whether to compare outputs; not if verification is off, or the executable was
            verified before.
    """

    executable: Path
    seconds: float
    give_up_us: float = math.inf
    verify: bool = True


class LoadedExecutable:
    """An executable that is loaded.

    Args:
        device: that it runs on.
        modules: what it needs from the runtime, such as the device's.
        outputs: element types of what its function returns.
        repeated: a function that does the same several times, if there is one.
    """

    def __init__(
        self,
        instance: rt.VmInstance,
        device: rt.HalDevice,
        modules: Sequence[rt.VmModule],
        path: Path,
        function: str,
        outputs: Sequence[str],
        repeated: str = "",
    ) -> None:
        self._module = rt.VmModule.copy_buffer(instance, path.read_bytes())
        self._context = rt.VmContext(instance, [*modules, self._module])
        self._function = self._module.lookup_function(function)
        self._repeated = self._module.lookup_function(repeated) if repeated else None
        self._device = device
        self._outputs = outputs

    def sibling(self, function: str, outputs: Sequence[str]) -> LoadedExecutable:
        """Another function of the same executable, with the same state."""
        found = copy(self)
        found._function = self._module.lookup_function(function)
        found._repeated, found._outputs = None, outputs
        return found

    def run(self, arguments: rt.VmVariantList, *, repeated: bool = False) -> rt.VmVariantList:
        results = rt.VmVariantList(len(self._outputs))
        function = self._repeated if repeated else self._function
        self._context.invoke(function, arguments, results)
        return results

    def outputs(self, arguments: rt.VmVariantList) -> list[Array]:
        results = self.run(arguments)
        views = (results.get_as_object(i, rt.HalBufferView) for i in range(len(self._outputs)))
        typed = zip(views, self._outputs, strict=True)
        return [copy_to_host(self._device, view, dtype) for view, dtype in typed]


class _Device:
    """A device with the inputs of one dispatch, and the outputs that are right."""

    def __init__(self, setup: SetupRequest) -> None:
        self.setup = setup
        self.instance = rt.VmInstance()
        self.device = open_device(setup.device)
        # Drivers of GPUs compile a kernel when it first runs: lavapipe takes up to 8 s to, for what
        # then runs in 25 ms.
        self.compiles_late = not shares_cores(setup.device)
        # Of a driver on this CPU, other processes take more than what lies between call and answer:
        # of many short runs, some are undisturbed.
        self.repeats = (
            bool(setup.call.repeated)
            and self.compiles_late
            and not is_software(identify(setup.device))
        )
        self.hal = rt.create_hal_module(self.instance, self.device)
        check_memory((*setup.call.inputs, *setup.call.inputs, *setup.call.outputs))
        inputs = make_inputs(setup.call.inputs, setup.seed)
        self.arguments = self._to_device(inputs)
        self._leave_other_values: Callable[[], object] | None = None
        self._right_us = math.inf
        self._find_mismatch = self._judge(inputs)

    def _to_device(self, inputs: Sequence[Array]) -> rt.VmVariantList:
        dtypes = [dtype for _, dtype in self.setup.call.inputs]
        return copy_to_device(self.device, zip(inputs, dtypes, strict=True))

    def _judge(self, inputs: Sequence[Array]) -> Callable[[Sequence[Array]], str | None]:
        """What tells where outputs are wrong: the operation, else the compiler's default."""
        setup = self.setup
        if setup.operation is not None:
            tolerance, right = setup.operation.tolerance, setup.operation.reference(inputs)
            size = tolerance.size_of(right)
            return lambda outputs: tolerance.find_mismatch(outputs[0], right, size=size)
        if setup.baseline is not None:
            return self._judge_by_default(self._load(setup.baseline), inputs)
        return lambda _: None  # nobody asks

    def _judge_by_default(
        self, default: LoadedExecutable, inputs: Sequence[Array]
    ) -> Callable[[Sequence[Array]], str | None]:
        call, seed = self.setup.call, self.setup.seed
        expected = default.outputs(self.arguments)
        if _says_nothing(call, expected):  # such as sums of logarithms
            dtypes = [dtype for _, dtype in call.inputs]
            inputs = [make_positive(x, dtype) for x, dtype in zip(inputs, dtypes, strict=True)]
            self.arguments = self._to_device(inputs)
            expected = default.outputs(self.arguments)
        if _says_nothing(call, expected):
            raise WorkError(
                "the compiler's default gives nothing but infinity or NaN for random inputs, so "
                "that any candidate would seem right",
                "tune it in its model, with inputs of your own (`tune-model --input`)",
            )
        self._note_right(default)
        judge = Verification(call, inputs, expected, seed)
        if not judge.default_is_exact and not any(values.any() for values in expected):
            raise WorkError(
                "the compiler's default gives zeros for random inputs, and float64 does not: the "
                "device or its driver does not work",
                DOCTOR_HINT,
            )
        return judge.find_mismatch

    def _note_right(self, kernel: LoadedExecutable, time_us: float = math.inf) -> None:
        """Has the fastest kernel that is right leave other values before others are verified.

        Memory is not cleared, on CPUs neither: what a kernel fails to write would be what the one
        before has left there, which is right if that had the same inputs.
        """
        if self._leave_other_values is None or time_us < self._right_us:
            self._leave_other_values = partial(kernel.run, self._others)
            self._right_us = time_us

    @cached_property
    def _others(self) -> rt.VmVariantList:
        """Inputs that are run, and never compared."""
        return self._to_device(make_inputs(self.setup.call.inputs, self.setup.seed + OTHER_VALUES))

    def _load(self, path: Path) -> LoadedExecutable:
        call = self.setup.call
        dtypes = [dtype for _, dtype in call.outputs]
        return LoadedExecutable(
            self.instance, self.device, [self.hal], path, call.function, dtypes, call.repeated
        )

    def measure(self, request: MeasureRequest) -> Timing:
        kernel, arguments = self._load(request.executable), self.arguments
        if request.verify:
            if self._leave_other_values is not None:
                self._leave_other_values()
            start = time.perf_counter()
            outputs = kernel.outputs(arguments)
            first_us = (time.perf_counter() - start) * 1e6
            wrong = self._find_mismatch(outputs)
            if wrong is not None:
                return Timing(wrong=wrong)
            limit_us = max(COLD * request.give_up_us, SLICE_US)
            # The driver may have compiled it, or a control group have had its share of the CPU.
            if first_us > limit_us:
                first_us = self._run_us(kernel)
            if first_us > limit_us:
                return Timing((first_us,))
        else:
            kernel.run(arguments)
        if self._is_short(kernel):
            timing = self._time_repeated(kernel, request)
        else:
            timing = time_runs(lambda: kernel.run(arguments), request.seconds, request.give_up_us)
        if request.verify or request.executable == self.setup.baseline:
            self._note_right(kernel, min(timing.samples_us))
        return timing

    def _run_us(self, kernel: LoadedExecutable) -> float:
        start = time.perf_counter()
        kernel.run(self.arguments)
        return (time.perf_counter() - start) * 1e6

    def _is_short(self, kernel: LoadedExecutable) -> bool:
        """Whether it is to be timed by the function that repeats it."""
        if not self.repeats:
            return False
        # Another process's turn on the core may be in one of these, and is not that long.
        for _ in range(MIN_RUNS):
            took_us = self._run_us(kernel)
            if took_us < REPEATED_US or took_us > SLICE_US:
                break
        return took_us < REPEATED_US

    def _time_repeated(self, kernel: LoadedExecutable, request: MeasureRequest) -> Timing:
        """Each sample is the mean of a group of runs, so that one of them is enough."""
        repeats = self.setup.call.repeats
        run = partial(kernel.run, self.arguments, repeated=True)
        run()  # it is a function of its own, which was not run before
        timing = time_runs(
            run,
            request.seconds,
            repeats * request.give_up_us,
            least=1,
        )
        return Timing(tuple(sample / repeats for sample in timing.samples_us))


def _says_nothing(call: Call, outputs: Sequence[Array]) -> bool:
    """Whether no output has a finite value, to which others could be compared."""
    pairs = zip(outputs, call.outputs, strict=True)
    return all(without_finite(values, dtype) for values, (_, dtype) in pairs)


_device: _Device | None = None


def answer(request: SetupRequest | MeasureRequest) -> Timing | None:
    """Serves one request; a Setup comes first."""
    global _device
    if isinstance(request, SetupRequest):
        _device = None  # both dispatches' inputs may not fit at once
        give_back(request.device)
        _device = _Device(request)
        return None
    assert _device is not None, "set up first"
    return _device.measure(request)
