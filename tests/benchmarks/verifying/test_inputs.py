"""Inputs."""

from __future__ import annotations

import numpy as np
import pytest

from frontrunner.benchmarks.verifying import F8, as_float
from frontrunner.benchmarks.verifying.inputs import (
    from_bf16,
    make_input,
    make_positive,
    to_bf16,
)

DTYPES = ["f32", "f16", "f64", "bf16", "i8", "i16", "i32", "i64", "i1"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_inputs_are_seeded_and_not_zero(dtype: str) -> None:
    first = make_input((32, 8), dtype, 1)
    assert first.shape == (32, 8)
    assert np.count_nonzero(first) > 64
    assert np.array_equal(first, make_input((32, 8), dtype, 1))
    assert not np.array_equal(first, make_input((32, 8), dtype, 2))


def test_integers_tell_sums_in_too_few_bits() -> None:
    """Of small ones, sums fit 16 bits, and operands 4."""
    lhs, rhs = (make_input((64, 512), "i8", seed).astype(np.int32) for seed in (0, 1))
    assert (lhs.min(), lhs.max()) == (-128, 127)
    sums = lhs @ rhs.T
    assert (sums != sums.astype(np.int16)).any()
    wide = make_input((64, 64), "i16", 0)
    assert (wide != wide.astype(np.int8)).any()


def test_an_unknown_element_type_is_named() -> None:
    with pytest.raises(ValueError, match="f4E2M1FN"):
        make_input((2,), "f4E2M1FN", 0)


def test_bf16_rounds_to_nearest_even() -> None:
    values = np.array([1.0, -2.5, 1.00390625, 1.01171875, 3.14159], dtype=np.float32)
    # 1 + 2**-8 lies halfway and goes to the even neighbour 1; 1 + 3 * 2**-8 to 1 + 2**-6.
    expected = np.array([1.0, -2.5, 1.0, 1.015625, 3.140625], dtype=np.float32)
    assert np.array_equal(from_bf16(to_bf16(values)), expected)


def test_nan_and_infinity_stay_so_in_bf16() -> None:
    values = np.array([0x7FFFFFFF, 0xFFFFFFFF, 0x7F800000], dtype=np.uint32).view(np.float32)
    assert np.array_equal(np.isnan(from_bf16(to_bf16(values))), [True, True, False])
    assert np.isposinf(from_bf16(to_bf16(values))[2])


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16", *F8])
def test_positive_inputs_are_absolute_values(dtype: str) -> None:
    values = make_input((200,), dtype, 0)
    positive = make_positive(values, dtype)
    assert positive.dtype == values.dtype
    assert np.array_equal(as_float(positive, dtype), np.abs(as_float(values, dtype)))
    integers = make_input((200,), "i8", 0)
    assert np.array_equal(make_positive(integers, "i8"), integers)
