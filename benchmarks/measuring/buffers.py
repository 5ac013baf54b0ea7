"""What goes to a device and comes back: arrays as buffers of IREE's runtime."""

from __future__ import annotations

from collections.abc import Iterable

import iree.runtime as rt
import numpy as np

from ..verifying import F8, NUMPY_TYPES, Array

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
        view = device.allocator.allocate_buffer_copy(
            memory_type=rt.MemoryType.DEVICE_LOCAL,
            allowed_usage=rt.BufferUsage.DEFAULT | rt.BufferUsage.MAPPING,
            device=device,
            # Made contiguous, what has no dimensions would have one.
            buffer=np.ascontiguousarray(raw).reshape(value.shape),
            element_type=HAL_TYPES[dtype],
        )
        arguments.push_ref(view)
    return arguments


def copy_to_host(device: rt.HalDevice, view: rt.HalBufferView, dtype: str) -> Array:
    """An output, whether the device shares its memory or not."""
    buffer = view.get_buffer()
    if not buffer.allowed_usage() & int(rt.BufferUsage.MAPPING_SCOPED):
        buffer = _transfer(device, buffer)
    values: Array = buffer.map().asarray(tuple(view.shape), np.dtype(NUMPY_TYPES[dtype]))
    return np.array(values)


def _transfer(device: rt.HalDevice, source: rt.HalBuffer) -> rt.HalBuffer:
    """A copy of a buffer in memory that the host sees."""
    copy = device.allocator.allocate_buffer(
        memory_type=int(rt.MemoryType.HOST_LOCAL | rt.MemoryType.DEVICE_VISIBLE),
        allowed_usage=int(rt.BufferUsage.TRANSFER_TARGET | rt.BufferUsage.MAPPING_SCOPED),
        allocation_size=source.byte_length(),
    )
    done = device.create_semaphore(0)
    device.queue_copy(
        source,
        copy,
        wait_semaphores=rt.HalFence.create_at(done, 0),
        signal_semaphores=rt.HalFence.create_at(done, 1),
    )
    rt.HalFence.create_at(done, 1).wait()
    return copy
