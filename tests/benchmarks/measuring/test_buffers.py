"""Arrays that become arguments, and outputs that become arrays."""

from __future__ import annotations

import iree.runtime as rt
import numpy as np
import pytest

from frontrunner.benchmarks.measuring.buffers import copy_to_device, copy_to_host
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
