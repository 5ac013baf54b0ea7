"""Tolerances: what is off by roundings agrees, what is wrong does not."""

from __future__ import annotations

import numpy as np
import pytest

from frontrunner.benchmarks.operations import narrow
from frontrunner.benchmarks.verifying import F8, Tolerance, as_float, make_input, to_bf16
from frontrunner.benchmarks.verifying import tolerance as module


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


def test_integers_that_are_rounded_sums_may_be_one_off_where_few_are() -> None:
    """Such as those of a product in f32 that is quantised: some sums are halfway between two."""
    right = np.random.default_rng(0).integers(-127, 128, (256, 256)).astype(np.int8)
    few, many, far = right.copy(), right.copy(), right.copy()
    few[0, :8] ^= 1
    many[:64] ^= 1
    far[3, 4] = right[3, 4] // 2 + 5
    rounded = Tolerance("i8", 1024, "f32")
    assert rounded.find_mismatch(few, right) is None
    assert "is " in str(rounded.find_mismatch(many, right))
    assert "[3, 4]" in str(rounded.find_mismatch(far, right))
    assert "[0, 0]" in str(Tolerance("i8", 1024).find_mismatch(few, right))


def test_unsigned_bytes_around_128_are_one_off() -> None:
    """They are read as signed ones: 127 and 128 as 127 and -128."""
    right = np.random.default_rng(0).integers(0, 256, (256, 256)).astype(np.uint8)
    right[0, :8] = 127
    few = right.copy()
    few[0, :8] = 128
    wrong = right.copy()
    wrong[0, 0] = 130
    rounded = Tolerance("i8", 1024, "f32")
    assert rounded.find_mismatch(few.view(np.int8), right.view(np.int8)) is None
    assert "[0, 0]" in str(rounded.find_mismatch(wrong.view(np.int8), right.view(np.int8)))
    assert "[0, 0]" in str(Tolerance("i8", 9).find_mismatch(few.view(np.int8), right.view(np.int8)))


@pytest.mark.parametrize(
    ("dtype", "mask"), [("f32", -3.4028235e38), ("f32", -1e9), ("f32", -1e4), ("f16", -65504.0)]
)
@pytest.mark.parametrize("share", [0.02, 0.5, 0.9])
def test_masked_scores_do_not_hide_wrong_ones(dtype: str, mask: float, share: float) -> None:
    """Of 128 rows and columns, most of them beyond a band, such as under a causal mask."""
    kind = {"f32": np.float32, "f16": np.float16}[dtype]
    rng = np.random.default_rng(0)
    scores = (8 * rng.standard_normal((128, 128))).astype(kind)
    masked = rng.random((128, 128)) < share
    right = np.where(masked, kind(mask), scores)
    zeros = np.where(masked, kind(mask), kind(0))
    tolerance = Tolerance(dtype, 64, "f32")
    assert tolerance.find_mismatch(right.copy(), right) is None
    assert tolerance.find_mismatch(zeros, right) is not None
    off = right.copy()
    off[np.unravel_index(np.argmin(masked), masked.shape)] += kind(4)
    assert tolerance.find_mismatch(off, right) is not None
    close = np.where(masked, kind(mask), (scores * kind(1 + 2e-7)).astype(kind))
    assert tolerance.find_mismatch(close, right) is None


def test_values_of_all_sizes_are_no_masks() -> None:
    """Small values of what spans many magnitudes are as exact as their terms, not as themselves."""
    logits = 10 * np.random.default_rng(0).standard_normal(4000)
    right = np.exp(logits).astype(np.float32)
    near = right + np.float32(1e-9 * right.max())
    assert Tolerance("f32", 64).find_mismatch(near, right) is None


def test_few_zeros_among_long_sums_are_found() -> None:
    """Long sums of bf16 are off by much, and still not by all there is."""
    right = np.random.default_rng(0).standard_normal(10_000, dtype=np.float32)
    some = np.where(np.arange(10_000) < 9_900, right, np.float32(0))
    got, expected = (to_bf16(values) for values in (some, right))
    assert Tolerance("bf16", 8192).find_mismatch(got, expected) is not None


def test_integers_are_exact_and_shapes_compared() -> None:
    right = np.arange(12, dtype=np.int32).reshape(3, 4)
    wrong = right.copy()
    wrong[1, 2] += 1
    assert Tolerance("i32", 8).find_mismatch(right, right) is None
    assert "[1, 2] is 7, expected 6" in str(Tolerance("i32", 8).find_mismatch(wrong, right))
    assert "shape" in str(Tolerance("i32", 8).find_mismatch(right.T, right))


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "f64", *F8])
def test_zeros_are_not_the_answer(dtype: str) -> None:
    right = make_input((100,), dtype, 0)
    assert Tolerance(dtype, 1 << 20).find_mismatch(np.zeros_like(right), right) is not None


@pytest.mark.parametrize("dtype", F8)
def test_what_is_wrong_in_8_bits_is_found(dtype: str) -> None:
    """Not as integers, which all values below 1 would be alike as."""
    sums = np.random.default_rng(0).standard_normal(3000).astype(np.float32)
    right = narrow(sums, dtype)
    tolerance = Tolerance(dtype, 64, "f32")
    assert tolerance.find_mismatch(narrow(sums * np.float32(1.01), dtype), right) is None
    cut = narrow(np.where(np.abs(sums) < 1, np.float32(0), sums), dtype)
    assert tolerance.find_mismatch(cut, right) is not None


def test_overflow_has_to_be_in_the_same_places() -> None:
    right = np.array([1.0, np.inf, np.nan, -2.0], np.float32)
    assert Tolerance("f32", 4).find_mismatch(right.copy(), right) is None
    assert Tolerance("f32", 4).find_mismatch(
        np.array([9.0, np.inf, np.nan, -2.0], np.float32), right
    )
    assert Tolerance("f32", 4).find_mismatch(np.array([1.0, 7.0, np.nan, -2.0], np.float32), right)


def product(dtype: str, sums: str, order: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Sums of 512 products of values of a type, kept in another; and the products, in float64."""
    lhs, rhs = (as_float(make_input((4000, 512), dtype, s), dtype) for s in (1, 2))
    total = np.zeros(4000)
    for step in (lhs * rhs).T[::order]:
        total = as_float(narrow(total + step, sums), sums)
    return total, lhs * rhs


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("wide", [True, False])
def test_what_is_wrong_in_16_bits_is_found(dtype: str, wide: bool) -> None:
    sums = "f32" if wide else dtype
    total, products = product(dtype, sums)
    right, other = (narrow(x, dtype) for x in (total, product(dtype, sums, -1)[0]))
    tolerance = Tolerance(dtype, 512, sums)
    assert tolerance.find_mismatch(other, right) is None
    assert tolerance.find_mismatch(narrow(products.sum(axis=1), dtype), right) is None
    dropped = narrow(total - products[:, 77], dtype)
    assert tolerance.find_mismatch(dropped, right) is not None
    swapped = right.copy()
    swapped[[10, 20]] = swapped[[20, 10]]
    assert tolerance.find_mismatch(swapped, right) is not None
    tail = right.copy()
    tail[-100:] = 0
    assert "[39" in str(tolerance.find_mismatch(tail, right))


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_sums_in_16_bits_are_not_those_in_32(dtype: str) -> None:
    wide, narrower = (narrow(product(dtype, sums)[0], dtype) for sums in ("f32", dtype))
    verdict = Tolerance(dtype, 512, "f32").find_mismatch(narrower, wide)
    assert verdict is not None
    assert Tolerance(dtype, 512).find_mismatch(narrower, wide) is None


def test_what_is_off_everywhere_is_found_where_no_value_is_off_by_much() -> None:
    right = make_input((10_000,), "f32", 0)
    tolerance = Tolerance("bf16", 16, "f32")
    off = to_bf16(right * np.float32(1.01))
    assert (np.abs(as_float(off, "bf16") / as_float(to_bf16(right), "bf16") - 1)).max() < (
        tolerance.worst
    )
    assert "of their size" in str(tolerance.find_mismatch(off, to_bf16(right)))


@pytest.mark.parametrize("sums", ["f32", "i32"])
def test_what_is_said_does_not_depend_on_the_pieces(
    sums: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    right = rng.standard_normal((30, 70)).astype(np.float32)
    right[20:] = -1e9
    right[3, 5] = np.inf
    wrong = right.copy()
    wrong[19, 68] += 1
    with np.errstate(over="ignore"):
        half = right.astype(np.float16)
    scaled = (half * np.float32(1.0012)).astype(np.float16)
    exact = (10 * right[:20]).clip(-127, 127).astype(np.int8)
    few, many = exact.copy(), exact.copy()
    few[17, 3] ^= 1
    many[:, :40] ^= 1
    cases = [("f32", right, right), ("f32", wrong, right), ("f16", scaled, half)]
    cases += [("i8", few, exact), ("i8", many, exact)]
    said = []
    for size in (100, 1 << 30):
        monkeypatch.setattr(module, "_PIECE", size)
        said.append([Tolerance(d, 64, sums).find_mismatch(a, b) for d, a, b in cases])
    assert said[0] == said[1]
    assert said[0][0] is None
    assert "element [19, 68]" in str(said[0][1])
    assert "are off by" in str(said[0][2])
    assert (said[0][3] is None) == (sums == "f32")
    assert said[0][4] is not None
