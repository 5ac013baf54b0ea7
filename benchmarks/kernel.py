"""The child's side of measuring: a runtime that stays up, loads executables, runs and times them.

One such process serves one device. It holds the inputs and the baseline's outputs, so that a
candidate costs a load, a verifying run and the timed runs, nothing more.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path

import iree.runtime as rt
import numpy as np

from .call import Call
from .inputs import NUMPY, Array, Tolerance, make_input

HAL_TYPES = {
    "i1": rt.HalElementType.BOOL_8,
    "i8": rt.HalElementType.SINT_8,
    "i16": rt.HalElementType.SINT_16,
    "i32": rt.HalElementType.SINT_32,
    "i64": rt.HalElementType.SINT_64,
    "f16": rt.HalElementType.FLOAT_16,
    "bf16": rt.HalElementType.BFLOAT_16,
    "f32": rt.HalElementType.FLOAT_32,
    "f64": rt.HalElementType.FLOAT_64,
}
LEAST = 3
# A first run is slower than those that follow, but not by this much.
COLD = 3.0
# A run of 30 us may last as long as another process's turn on the core: 3 to 12 ms were seen. What
# is no longer than this is not given up after one run.
SLICE_US = 50_000.0


@dataclass(frozen=True)
class Setup:
    """What a device process needs before it can measure candidates."""

    device: str
    call: Call
    baseline: Path
    seed: int


@dataclass(frozen=True)
class Measure:
    """Loads an executable, verifies its outputs against the baseline's, and times it.

    Attributes:
        seconds: how long to time; at least `LEAST` runs are made.
        give_up_us: what is slower than this is not timed any longer.
        verify: False only where the same executable was verified before.
    """

    executable: Path
    seconds: float
    give_up_us: float = math.inf
    verify: bool = True


@dataclass(frozen=True)
class Timing:
    """Times of single runs, or why there are none."""

    samples_us: tuple[float, ...] = ()
    wrong: str | None = None


class _Kernel:
    """An executable that is loaded and bound to inputs."""

    def __init__(self, device: _Device, path: Path) -> None:
        module = rt.VmModule.copy_buffer(device.instance, path.read_bytes())
        self._context = rt.VmContext(device.instance, [device.hal, module])
        self._function = module.lookup_function(device.setup.call.function)
        self._arguments = device.arguments
        self._results = len(device.setup.call.outputs)
        self._device = device

    def run(self) -> rt.VmVariantList:
        results = rt.VmVariantList(self._results)
        self._context.invoke(self._function, self._arguments, results)
        return results

    def outputs(self) -> list[Array]:
        results = self.run()
        found: list[Array] = []
        for i, (shape, dtype) in enumerate(self._device.setup.call.outputs):
            view = results.get_as_object(i, rt.HalBufferView)
            mapped = view.map().asarray(shape, np.dtype(NUMPY[dtype]))
            found.append(np.array(mapped))
        return found


class _Device:
    """A device with the inputs of one dispatch and the outputs that its baseline computes."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.instance = rt.VmInstance()
        driver = rt.get_driver(setup.device.partition("://")[0])
        self.device = driver.create_device_by_uri(setup.device)
        self.hal = rt.create_hal_module(self.instance, self.device)
        self.arguments = rt.VmVariantList(len(setup.call.inputs))
        for i, (shape, dtype) in enumerate(setup.call.inputs):
            values = make_input(shape, dtype, setup.seed + i)
            view = self.device.allocator.allocate_buffer_copy(
                memory_type=rt.MemoryType.DEVICE_LOCAL,
                allowed_usage=rt.BufferUsage.DEFAULT | rt.BufferUsage.MAPPING,
                device=self.device,
                buffer=np.ascontiguousarray(values),
                element_type=HAL_TYPES[dtype],
            )
            self.arguments.push_ref(view)
        self.baseline = _Kernel(self, setup.baseline)
        self.expected = self.baseline.outputs()

    def measure(self, request: Measure) -> Timing:
        kernel = _Kernel(self, request.executable)
        start = time.perf_counter()
        if request.verify:
            outputs = kernel.outputs()
            first_us = (time.perf_counter() - start) * 1e6
            wrong = self._compare(outputs)
            if wrong is not None:
                return Timing(wrong=wrong)
            if first_us > max(COLD * request.give_up_us, SLICE_US):
                return Timing((first_us,))
        else:
            kernel.run()
        samples: list[float] = []
        start = now = time.perf_counter()
        while len(samples) < LEAST or now - start < request.seconds:
            kernel.run()
            then, now = now, time.perf_counter()
            samples.append((now - then) * 1e6)
            if len(samples) >= LEAST and min(samples) > request.give_up_us:
                break
        return Timing(tuple(samples))

    def _compare(self, outputs: list[Array]) -> str | None:
        for (_, dtype), got, expected in zip(
            self.setup.call.outputs, outputs, self.expected, strict=True
        ):
            wrong = Tolerance(dtype, self.setup.call.reduction).worst(got, expected)
            if wrong is not None:
                return wrong
        return None


def identify(uri: str) -> str:
    """Names the chip behind the URI of a GPU, as its driver does.

    Raises:
        ValueError: there is no such device.
    """
    driver, _, path = uri.partition("://")
    found = rt.get_driver(driver).query_available_devices()
    # The runtime takes a position, a path (a UUID for most drivers) or nothing for the first.
    at = int(path or 0) if path.isdecimal() or not path else None
    for position, chip in enumerate(found):
        if at == position or path == chip["path"]:
            return f"{chip['name']} ({chip['path']})"
    raise ValueError(f"there is no {uri} among the {len(found)} devices of {driver}")


_device: _Device | None = None


def answer(request: Setup | Measure) -> Timing | None:
    """Serves one request; a Setup comes first."""
    global _device
    if isinstance(request, Setup):
        _device = _Device(request)
        return None
    assert _device is not None, "set up first"
    return _device.measure(request)
