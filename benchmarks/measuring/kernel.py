"""The child's side of measuring: a runtime that stays up, loads executables, runs and times them.

One such process serves one device. It holds the inputs and the outputs that are right, so that a
candidate costs a load, a verifying run and the timed runs, nothing more.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import iree.runtime as rt
import numpy as np

from ..verifying import F8, NUMPY_TYPES, Array, Call, Reference, Verification, make_inputs
from .timing import Timing, time_runs

HAL_TYPES = {
    "i1": rt.HalElementType.BOOL_8,
    "i8": rt.HalElementType.SINT_8,
    "i16": rt.HalElementType.SINT_16,
    "i32": rt.HalElementType.SINT_32,
    "i64": rt.HalElementType.SINT_64,
    "f8E4M3FN": rt.HalElementType.FLOAT_8_E4M3_FN,
    "f8E5M2": rt.HalElementType.FLOAT_8_E5M2,
    "f8E4M3FNUZ": rt.HalElementType.FLOAT_8_E4M3_FNUZ,
    "f8E5M2FNUZ": rt.HalElementType.FLOAT_8_E5M2_FNUZ,
    "f16": rt.HalElementType.FLOAT_16,
    "bf16": rt.HalElementType.BFLOAT_16,
    "f32": rt.HalElementType.FLOAT_32,
    "f64": rt.HalElementType.FLOAT_64,
}
# A first run is slower than those that follow, but not by this much.
COLD = 3.0
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
        modules: what it needs from the runtime, such as the device's.
        outputs: element types of what its function returns.
    """

    def __init__(
        self,
        instance: rt.VmInstance,
        modules: Sequence[rt.VmModule],
        path: Path,
        function: str,
        outputs: Sequence[str],
    ) -> None:
        module = rt.VmModule.copy_buffer(instance, path.read_bytes())
        self._context = rt.VmContext(instance, [*modules, module])
        self._function = module.lookup_function(function)
        self._outputs = outputs

    def run(self, arguments: rt.VmVariantList) -> rt.VmVariantList:
        results = rt.VmVariantList(len(self._outputs))
        self._context.invoke(self._function, arguments, results)
        return results

    def outputs(self, arguments: rt.VmVariantList) -> list[Array]:
        results = self.run(arguments)
        found: list[Array] = []
        for i, dtype in enumerate(self._outputs):
            view = results.get_as_object(i, rt.HalBufferView)
            found.append(
                np.array(view.map().asarray(tuple(view.shape), np.dtype(NUMPY_TYPES[dtype])))
            )
        return found


def copy_to_device(device: rt.HalDevice, values: Iterable[tuple[Array, str]]) -> rt.VmVariantList:
    """Arguments for a function: arrays, copied to the device, with their element types."""
    arguments = rt.VmVariantList(0)
    for array, dtype in values:
        view = device.allocator.allocate_buffer_copy(
            memory_type=rt.MemoryType.DEVICE_LOCAL,
            allowed_usage=rt.BufferUsage.DEFAULT | rt.BufferUsage.MAPPING,
            device=device,
            # Of types that are not NumPy's own there are no buffers.
            buffer=np.ascontiguousarray(array.view(np.uint8) if dtype in F8 else array),
            element_type=HAL_TYPES[dtype],
        )
        arguments.push_ref(view)
    return arguments


class _Device:
    """A device with the inputs of one dispatch, and the outputs that are right."""

    def __init__(self, setup: SetupRequest) -> None:
        self.setup = setup
        self.instance = rt.VmInstance()
        driver = rt.get_driver(setup.device.partition("://")[0])
        self.device = driver.create_device_by_uri(setup.device)
        self.hal = rt.create_hal_module(self.instance, self.device)
        inputs = make_inputs(setup.call.inputs, setup.seed)
        dtypes = [dtype for _, dtype in setup.call.inputs]
        self.arguments = copy_to_device(self.device, zip(inputs, dtypes, strict=True))
        self._find_mismatch = self._judge(inputs)

    def _judge(self, inputs: Sequence[Array]) -> Callable[[Sequence[Array]], str | None]:
        """What tells where outputs are wrong: the operation, else the compiler's default."""
        setup = self.setup
        if setup.operation is not None:
            tolerance, right = setup.operation.tolerance, setup.operation.reference(inputs)
            return lambda outputs: tolerance.find_mismatch(outputs[0], right)
        if setup.baseline is not None:
            expected = self._load(setup.baseline).outputs(self.arguments)
            return Verification(setup.call, inputs, expected, setup.seed).find_mismatch
        return lambda _: None  # nobody asks

    def _load(self, path: Path) -> LoadedExecutable:
        call = self.setup.call
        dtypes = [dtype for _, dtype in call.outputs]
        return LoadedExecutable(self.instance, [self.hal], path, call.function, dtypes)

    def measure(self, request: MeasureRequest) -> Timing:
        kernel, arguments = self._load(request.executable), self.arguments
        start = time.perf_counter()
        if request.verify:
            outputs = kernel.outputs(arguments)
            first_us = (time.perf_counter() - start) * 1e6
            wrong = self._find_mismatch(outputs)
            if wrong is not None:
                return Timing(wrong=wrong)
            if first_us > max(COLD * request.give_up_us, SLICE_US):
                return Timing((first_us,))
        else:
            kernel.run(arguments)
        return time_runs(lambda: kernel.run(arguments), request.seconds, request.give_up_us)


@dataclass(frozen=True)
class Chip:
    """What is behind a device's URI.

    Attributes:
        name: the chip's; many have the same.
        path: the driver's own of this one, a UUID for most; empty for a CPU.
    """

    name: str
    path: str = ""


def identify(uri: str) -> Chip:
    """The chip behind the URI of a GPU, as its driver has it.

    Raises:
        ValueError: there is no such device.
    """
    driver, _, path = uri.partition("://")
    found = rt.get_driver(driver).query_available_devices()
    # The runtime takes a position, a path (a UUID for most drivers) or nothing for the first.
    at = int(path or 0) if path.isdecimal() or not path else None
    for position, chip in enumerate(found):
        if at == position or path == chip["path"]:
            return Chip(chip["name"], chip["path"])
    raise ValueError(f"there is no {uri} among the {len(found)} devices of {driver}")


_device: _Device | None = None


def answer(request: SetupRequest | MeasureRequest) -> Timing | None:
    """Serves one request; a Setup comes first."""
    global _device
    if isinstance(request, SetupRequest):
        _device = _Device(request)
        return None
    assert _device is not None, "set up first"
    return _device.measure(request)
