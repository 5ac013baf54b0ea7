"""Inputs and tolerances."""

from __future__ import annotations

import numpy as np
import pytest

from frontrunner.benchmarks.measuring.inputs import Tolerance, from_bf16, make_input, to_bf16

DTYPES = ["f32", "f16", "f64", "bf16", "i8", "i16", "i32", "i64", "i1"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_inputs_are_seeded_and_not_zero(dtype: str) -> None:
    first = make_input((32, 8), dtype, 1)
    assert first.shape == (32, 8)
    assert np.count_nonzero(first) > 64
    assert np.array_equal(first, make_input((32, 8), dtype, 1))
    assert not np.array_equal(first, make_input((32, 8), dtype, 2))


def test_an_unknown_element_type_is_named() -> None:
    with pytest.raises(ValueError, match="f8E4M3FN"):
        make_input((2,), "f8E4M3FN", 0)


def test_bf16_rounds_to_nearest_even() -> None:
    values = np.array([1.0, -2.5, 1.00390625, 1.01171875, 3.14159], dtype=np.float32)
    # 1 + 2**-8 lies halfway and goes to the even neighbour 1; 1 + 3 * 2**-8 to 1 + 2**-6.
    expected = np.array([1.0, -2.5, 1.0, 1.015625, 3.140625], dtype=np.float32)
    assert np.array_equal(from_bf16(to_bf16(values)), expected)


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16"])
def test_a_reordered_sum_agrees_and_a_wrong_one_does_not(dtype: str) -> None:
    kind = {"f32": np.float32, "f64": np.float64, "f16": np.float16}[dtype]
    rng = np.random.default_rng(0)
    products = rng.standard_normal((2000, 512)).astype(kind)
    forwards = np.add.accumulate(products, axis=1, dtype=kind)[:, -1]
    backwards = np.add.accumulate(products[:, ::-1], axis=1, dtype=kind)[:, -1]
    assert not np.array_equal(forwards, backwards)
    tolerance = Tolerance(dtype, 512)
    assert tolerance.find_mismatch(backwards, forwards) is None
    dropped = forwards.copy()
    dropped[777] += 0.5 * np.sqrt(512)
    verdict = tolerance.find_mismatch(dropped, forwards)
    assert verdict is not None
    assert "777" in verdict


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_wrong(bad: float) -> None:
    right = np.ones(16, np.float32)
    wrong = right.copy()
    wrong[3] = bad
    assert "[3]" in str(Tolerance("f32", 4).find_mismatch(wrong, right))
    assert Tolerance("f32", 4).find_mismatch(right, right) is None


def test_integers_are_exact_and_shapes_compared() -> None:
    right = np.arange(12, dtype=np.int32).reshape(3, 4)
    wrong = right.copy()
    wrong[1, 2] += 1
    assert Tolerance("i32", 8).find_mismatch(right, right) is None
    assert "[1, 2] is 7, expected 6" in str(Tolerance("i32", 8).find_mismatch(wrong, right))
    assert "shape" in str(Tolerance("i32", 8).find_mismatch(right.T, right))


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "f64"])
def test_zeros_are_not_the_answer(dtype: str) -> None:
    right = make_input((100,), dtype, 0)
    assert Tolerance(dtype, 1 << 20).find_mismatch(np.zeros_like(right), right) is not None


def test_overflow_has_to_be_in_the_same_places() -> None:
    right = np.array([1.0, np.inf, np.nan, -2.0], np.float32)
    assert Tolerance("f32", 4).find_mismatch(right.copy(), right) is None
    assert Tolerance("f32", 4).find_mismatch(
        np.array([9.0, np.inf, np.nan, -2.0], np.float32), right
    )
    assert Tolerance("f32", 4).find_mismatch(np.array([1.0, 7.0, np.nan, -2.0], np.float32), right)
