"""Seeded, non-zero inputs for a dispatch."""

from __future__ import annotations

import math
import resource
from collections.abc import Iterable

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ...core import InputError, format_size, free_memory

Array = npt.NDArray[np.generic]

_Types = dict[str, type[np.generic]]
# Which the IREE runtime brings the package for.
F8: _Types = {
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
}
_FLOATS: _Types = {**F8, "f16": np.float16, "f32": np.float32, "f64": np.float64}
_INTS: _Types = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}
# Integers are below these, and not below their negatives. Of i8 there are all: with small values, a
# kernel that sums up in too few bits, or cuts operands, would seem right. Of i64, which may be
# indices, there are few.
INTEGER_LIMITS = {"i8": 1 << 7, "i16": 1 << 11, "i32": 1 << 11, "i64": 1 << 3}
# How tensors of an element type are held; bf16 as its 16 bits.
NUMPY_TYPES: _Types = {**_FLOATS, **_INTS, "i1": np.bool_, "bf16": np.uint16}


def make_input(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    """Values that exercise a kernel: normal floats, integers; bf16 as its 16 bits.

    Raises:
        ValueError: the element type is not supported as an input.
    """
    rng = np.random.default_rng(seed)
    if dtype == "f64":
        return rng.standard_normal(shape)
    if dtype in _FLOATS:
        return rng.standard_normal(shape, dtype=np.float32).astype(_FLOATS[dtype])
    if dtype == "bf16":
        return to_bf16(rng.standard_normal(shape, dtype=np.float32))
    if dtype in _INTS:
        limit = INTEGER_LIMITS[dtype]
        return rng.integers(-limit, limit, shape).astype(_INTS[dtype])
    if dtype == "i1":
        return rng.integers(0, 2, shape).astype(np.bool_)
    raise ValueError(f"no inputs can be made for element type {dtype}")


def make_inputs(tensors: Iterable[tuple[tuple[int, ...], str]], seed: int) -> list[Array]:
    """Values for each of the tensors of a function."""
    return [make_input(shape, dtype, seed + i) for i, (shape, dtype) in enumerate(tensors)]


def make_positive(values: Array, dtype: str) -> Array:
    """Absolute values of floats, whatever their type; integers as they are."""
    if dtype == "bf16":
        bits: Array = values.astype(np.uint16) & np.uint16(0x7FFF)
        return bits
    return np.abs(values) if dtype in _FLOATS else values


def check_memory(tensors: Iterable[tuple[tuple[int, ...], str]]) -> None:
    """Refuses tensors that this machine cannot hold, before they are made.

    Raises:
        InputError: they take more than its memory.
    """
    needed = sum(math.prod(shape) * _itemsize(dtype) for shape, dtype in tensors)
    free, (allowed, _) = free_memory(), resource.getrlimit(resource.RLIMIT_AS)
    limits = ([free[1]] if free else []) + [allowed] * (allowed != resource.RLIM_INFINITY)
    if needed > (there := min(limits, default=needed)):
        raise InputError(
            f"inputs and outputs take {format_size(needed)}, this machine has {format_size(there)}",
            "give something smaller, or use a machine with more memory",
        )


def _itemsize(dtype: str) -> int:
    # What is of another type is refused when it is made.
    return np.dtype(NUMPY_TYPES.get(dtype, np.uint8)).itemsize


def to_bf16(values: npt.NDArray[np.float32]) -> npt.NDArray[np.uint16]:
    """Rounds to the nearest bf16 and returns its bits."""
    return values.astype(ml_dtypes.bfloat16).view(np.uint16)


def from_bf16(bits: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
    values: npt.NDArray[np.float32] = bits.view(ml_dtypes.bfloat16).astype(np.float32)
    return values
