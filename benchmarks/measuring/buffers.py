"""What goes to a device and comes back: arrays as buffers of IREE's runtime."""

from __future__ import annotations

from collections.abc import Iterable

import iree.runtime as rt
import numpy as np

from ..verifying import F8, NUMPY_TYPES, Array

# Of memory that is filled: a pool of the runtime has 64 MiB, of which some may be in use.
_BLOCKS = (32 << 20, *(1 << n for n in range(25, 15, -1)))
# Of each byte; finite as a number of any type, and large: 1e36 as f32, 6e4 as f16.
_FILLING = 0x7B

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


def copy_to_device(
    device: rt.HalDevice, values: Iterable[tuple[Array | int | float, str]]
) -> rt.VmVariantList:
    """Arguments for a function: numbers, and arrays with their types, copied to the device."""
    arguments = rt.VmVariantList(0)
    for value, dtype in values:
        if isinstance(value, int | float):
            push = arguments.push_int if isinstance(value, int) else arguments.push_float
            push(value)
            continue
        # Of types that are not NumPy's own there are no buffers.
        raw = value.view(np.uint8) if dtype in F8 else value
        # Made contiguous, what has no dimensions would have one.
        raw = np.ascontiguousarray(raw).reshape(value.shape)
        arguments.push_ref(_copy_array(device, raw, HAL_TYPES[dtype]))
    return arguments


def _copy_array(
    device: rt.HalDevice, values: Array, element_type: rt.HalElementType
) -> rt.HalBufferView:
    return device.allocator.allocate_buffer_copy(
        memory_type=rt.MemoryType.DEVICE_LOCAL,
        # Not to be mapped: on HIP that would be managed memory, which dispatches read over PCIe, or
        # before it is written (https://github.com/iree-org/iree/pull/24106).
        allowed_usage=rt.BufferUsage.DEFAULT,
        device=device,
        buffer=values,
        element_type=element_type,
    )


def copy_to_host(device: rt.HalDevice, view: rt.HalBufferView, dtype: str) -> Array:
    """An output, whether the device shares its memory or not."""
    buffer = view.get_buffer()
    if not buffer.allowed_usage() & int(rt.BufferUsage.MAPPING_SCOPED):
        buffer = _transfer(device, buffer)
    values: Array = buffer.map().asarray(tuple(view.shape), np.dtype(NUMPY_TYPES[dtype]))
    return np.array(values)


class MemoryFiller:
    """Leaves values of its own in memory that the runtime gives out next.

    It gives what was freed to whoever asks, on CPUs, too, and as it is: what a program fails to
    write would be what the one before has left there, which is right if that had the same inputs.
    Larger blocks than these are cleared (IREE 3.13, local-task).
    """

    def __init__(self, device: rt.HalDevice) -> None:
        self._device = device
        self._sources: list[rt.HalBuffer] | None = None

    def fill(self) -> None:
        try:
            self._fill()
        except (RuntimeError, ValueError, IndexError):  # by the runtime's code
            # A driver that gives out memory in another way; it was tried on CPUs and lavapipe.
            self._sources = []

    def _fill(self) -> None:
        device = self._device
        if self._sources is None:
            arrays = [np.full(size, _FILLING, np.int8) for size in _BLOCKS]
            copies = [_copy_array(device, array, HAL_TYPES["i8"]) for array in arrays]
            self._sources = [copy.get_buffer() for copy in copies]
        done, steps = device.create_semaphore(0), 0

        def next_step() -> tuple[rt.HalFence, rt.HalFence]:
            nonlocal steps
            steps += 1
            return rt.HalFence.create_at(done, steps - 1), rt.HalFence.create_at(done, steps)

        # All at once, for each to be another block.
        blocks = [
            device.queue_alloca(source.byte_length(), *next_step()) for source in self._sources
        ]
        for source, block in zip(self._sources, blocks, strict=True):
            device.queue_copy(source, block, *next_step())
        for block in blocks:
            device.queue_dealloca(block, *next_step())
        if steps:
            rt.HalFence.create_at(done, steps).wait()


def _transfer(device: rt.HalDevice, source: rt.HalBuffer) -> rt.HalBuffer:
    """A copy of a buffer in memory that the host sees."""
    seen = int(rt.MemoryType.HOST_LOCAL | rt.MemoryType.DEVICE_VISIBLE)
    usage = int(rt.BufferUsage.TRANSFER_TARGET | rt.BufferUsage.MAPPING_SCOPED)
    allocate, size = device.allocator.allocate_buffer, source.byte_length()
    try:
        # Else CUDA's and HIP's is write-combined, which CPUs read slowly.
        copy = allocate(seen | int(rt.MemoryType.HOST_CACHED), usage, size)
    except (RuntimeError, ValueError):
        copy = allocate(seen, usage, size)
    done = device.create_semaphore(0)
    device.queue_copy(
        source,
        copy,
        wait_semaphores=rt.HalFence.create_at(done, 0),
        signal_semaphores=rt.HalFence.create_at(done, 1),
    )
    rt.HalFence.create_at(done, 1).wait()
    return copy
