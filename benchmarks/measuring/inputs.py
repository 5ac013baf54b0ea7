"""How a dispatch is called: its tensors, seeded inputs, and how far its outputs may differ."""

from __future__ import annotations

import math
import resource
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ...core import InputError, format_size, free_memory

Array = npt.NDArray[np.generic]

_Types = dict[str, type[np.generic]]
_FLOATS: _Types = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
_INTS: _Types = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}
# How tensors of an element type are held; bf16 as its 16 bits.
NUMPY_TYPES: _Types = {**_FLOATS, **_INTS, "i1": np.bool_, "bf16": np.uint16}

Tensors = tuple[tuple[tuple[int, ...], str], ...]


@dataclass(frozen=True)
class Call:
    """A function with the shapes and element types of what it takes and gives.

    Attributes:
        reduction: how many terms are summed up in an output; tolerances grow with it.
    """

    function: str
    inputs: Tensors
    outputs: Tensors
    reduction: int

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def make_input(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    """Values that exercise a kernel: normal floats, small integers; bf16 as its 16 bits.

    Raises:
        ValueError: the element type is not supported as an input.
    """
    rng = np.random.default_rng(seed)
    if dtype in _FLOATS:
        return rng.standard_normal(shape, dtype=np.float32).astype(_FLOATS[dtype])
    if dtype == "bf16":
        return to_bf16(rng.standard_normal(shape, dtype=np.float32))
    if dtype in _INTS:
        return rng.integers(-8, 8, shape).astype(_INTS[dtype])
    if dtype == "i1":
        return rng.integers(0, 2, shape).astype(np.bool_)
    raise ValueError(f"no inputs can be made for element type {dtype}")


def make_inputs(tensors: Iterable[tuple[tuple[int, ...], str]], seed: int) -> list[Array]:
    """Values for each of the tensors of a function."""
    return [make_input(shape, dtype, seed + i) for i, (shape, dtype) in enumerate(tensors)]


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
    """Rounds to the nearest bf16 and returns its bits, since NumPy has no such type."""
    bits = values.view(np.uint32)
    rounded = bits + 0x7FFF + ((bits >> 16) & 1)
    return (rounded >> 16).astype(np.uint16)


def from_bf16(bits: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
    return (bits.astype(np.uint32) << 16).view(np.float32)


# Unit roundoff of the element types that outputs have.
_EPSILON = {"f64": 2.0**-53, "f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-9}


@dataclass(frozen=True)
class Tolerance:
    """Largest difference allowed, relative to the size of the outputs' values.

    A reordered sum of n terms differs by about sqrt(n) roundings of its magnitude; the factor of 16
    is the distance between that and the worst of a few million outputs. Integers are exact. Sums
    that are kept in 16 bits differ by so much that a cap is needed for zeros still to be wrong.

    Attributes:
        dtype: of the outputs.
        sums: what was summed up in, where that is another type; rounding to the outputs' is added.
    """

    dtype: str
    reduction: int
    sums: str = ""

    @property
    def share(self) -> float:
        rounding = 16 * _EPSILON.get(self.sums or self.dtype, 0.0)
        summed = rounding * max(1.0, math.sqrt(self.reduction))
        return min(0.25, summed + (4 * _EPSILON.get(self.dtype, 0.0) if self.sums else 0.0))

    def find_mismatch(self, got: Array, expected: Array) -> str | None:
        """None if the outputs agree, else where they differ most."""
        if got.shape != expected.shape:
            return f"shape {got.shape}, expected {expected.shape}"
        a: npt.NDArray[Any]
        b: npt.NDArray[Any]
        if self.dtype not in _EPSILON:
            a, b = got.astype(np.int64), expected.astype(np.int64)
            beyond = np.abs(a - b) - 1
        else:
            a, b = (_as_float(x, self.dtype) for x in (got, expected))
            finite = np.isfinite(b)
            scale = float(np.sqrt(np.mean(np.square(b[finite])))) if finite.any() else 1.0
            with np.errstate(invalid="ignore"):
                # Where the default overflows or divides by zero, a candidate has to, too.
                same = (a == b) | (np.isnan(a) & np.isnan(b))
                error = np.where(same, 0.0, np.abs(a - b))
                allowed = self.share * np.maximum(scale, np.where(finite, np.abs(b), 0.0))
                excess = error - allowed
            # A NaN is not within what is allowed.
            beyond = np.where(error <= allowed, -1.0, np.nan_to_num(excess, nan=np.inf))
        if not beyond.size or beyond.max() < 0:
            return None
        at = int(np.argmax(beyond))
        where = ", ".join(str(int(i)) for i in np.unravel_index(at, got.shape))
        return f"element [{where}] is {a.flat[at]}, expected {b.flat[at]}"


def _as_float(values: Array, dtype: str) -> npt.NDArray[np.float64]:
    plain = from_bf16(values) if dtype == "bf16" else values  # type: ignore[arg-type]
    return plain.astype(np.float64)


class Reference(Protocol):
    """Gives expected outputs in place of the baseline: a generated operation, in NumPy."""

    @property
    def tolerance(self) -> Tolerance: ...

    def reference(self, inputs: Sequence[Array]) -> Array:
        """The outputs, in NumPy."""
