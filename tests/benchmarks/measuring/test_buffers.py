"""Arrays that become arguments, and outputs that become arrays."""

from __future__ import annotations

from types import SimpleNamespace

import iree.runtime as rt
import numpy as np
import pytest

from frontrunner.benchmarks.measuring.buffers import (
    MemoryFiller,
    _transfer,
    copy_to_device,
    copy_to_host,
)
from frontrunner.benchmarks.measuring.chips import open_device


@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0, 4)])
def test_an_argument_has_the_shape_that_it_had(shape: tuple[int, ...]) -> None:
    """Also one without dimensions, which NumPy gives one where it makes arrays contiguous."""
    device = open_device("local-sync")
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + 1
    rt.create_hal_module(rt.VmInstance(), device)  # which makes views known
    view = copy_to_device(device, [(array, "f32")]).get_as_object(0, rt.HalBufferView)
    assert tuple(view.shape) == shape
    np.testing.assert_array_equal(copy_to_host(device, view, "f32"), array)


@pytest.mark.parametrize("error", [RuntimeError, ValueError, IndexError])
def test_memory_that_cannot_be_filled_is_left_as_it_is(error: type[Exception]) -> None:
    def refuse(**_: object) -> None:
        raise error("not on this driver")

    device = SimpleNamespace(allocator=SimpleNamespace(allocate_buffer_copy=refuse))
    filler = MemoryFiller(device)
    filler.fill()
    assert filler._sources == []


def test_outputs_come_by_memory_that_the_host_caches_where_there_is_some() -> None:
    asked: list[int] = []
    device = open_device("local-sync")

    def allocate(memory_type: int, usage: int, size: int) -> rt.HalBuffer:
        asked.append(memory_type)
        if memory_type & int(rt.MemoryType.HOST_CACHED) == int(rt.MemoryType.HOST_CACHED):
            raise RuntimeError("there is none")
        return device.allocator.allocate_buffer(memory_type, usage, size)

    allocator = SimpleNamespace(allocate_buffer=allocate)
    stub = SimpleNamespace(
        allocator=allocator, create_semaphore=device.create_semaphore, queue_copy=device.queue_copy
    )
    rt.create_hal_module(rt.VmInstance(), device)  # which makes views known
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    view = copy_to_device(device, [(array, "f32")]).get_as_object(0, rt.HalBufferView)
    copy = _transfer(stub, view.get_buffer())
    np.testing.assert_array_equal(copy.map().asarray((2, 3), np.dtype(np.float32)), array)
    assert len(asked) == 2
