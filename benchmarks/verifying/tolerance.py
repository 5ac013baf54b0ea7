"""How far outputs may differ from what is right: by the roundings of their sums, not by a share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .inputs import F8, Array, from_bf16

Positions = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# Unit roundoff of the element types that outputs have.
_EPSILON = {"f64": 2.0**-53, "f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
_EPSILON |= {name: 2.0**-4 if "E4M3" in name else 2.0**-3 for name in F8}
# Of sums of n terms in units of sqrt(n) roundings: how far they may be off typically (root mean
# square) and at worst. Term after term in f16, bf16 or f32, they are off by 0.24 and, of 50,000, by
# 2.1; in other orders by less (experiments/studies/verification.py).
_NARROW = {"f16": (0.4, 3.0), "bf16": (0.4, 3.0)}
# Of wider types, units are far below what errors make. Matrix units that cut off digits in place of
# rounding are off by n / 24 roundings if they take 16 terms at a time.
_WIDE = (16.0, 16.0)
# Of a result that is rounded once, it is 0.24 and 1; a few steps may follow a sum.
_ROUNDED = (1.0, 4.0)
# Attention rounds scaled queries and weights as well: it was off by 1.01 and 8.
ATTENTION_ROUNDINGS = 4
# What masks scores: -1e4 and below, all alike, where scores are some units. Of normally distributed
# values, the least of 20 times 1e3 is 60 times their size.
_MASKS = 1e3
_SAMPLE = 10_000
# Outputs are compared in pieces of so many values, which stay in a core's cache: as a whole, 4096
# squared took 2 s and 0.9 GB, of a candidate's time.
_PIECE = 1 << 16
# Zeros in place of normally distributed values are off by 0.8, a third of them by 1, none by more.
_MOST = (0.5, 0.95)


@dataclass(frozen=True)
class Tolerance:
    """The largest differences allowed, relative to the size of the outputs' values.

    Single values may be off by more than values are on average: a race shows in the former, a term
    that is missing everywhere in the latter. Integers are exact, unless they are made of sums of
    floats: another order of summation may round some of them the other way.

    Attributes:
        dtype: of the outputs.
        reduction: how many terms are summed up in an output.
        sums: what they are summed up in, where that is another type.
        roundings: how often values are rounded to the outputs' type on their way, beyond sums.
    """

    dtype: str
    reduction: int
    sums: str = ""
    roundings: int = 1

    @property
    def typical(self) -> float:
        """Of all values: the root of the mean square."""
        return self._allowed(0)

    @property
    def worst(self) -> float:
        """Of a single value."""
        return self._allowed(1)

    def _allowed(self, which: int) -> float:
        sums = self.sums or self.dtype
        summed = _NARROW.get(sums, _WIDE)[which] * _EPSILON.get(sums, 0.0)
        rounded = _ROUNDED[which] * self.roundings * _EPSILON.get(self.dtype, 0.0)
        return min(_MOST[which], summed * math.sqrt(self.reduction) + rounded)

    def find_mismatch(
        self,
        outputs: Array,
        expected: Array,
        at: tuple[Positions, ...] | None = None,
        size: float | None = None,
    ) -> str | None:
        """None if outputs agree with what is expected, else where they differ most.

        Args:
            at: the positions of what is expected among the outputs; None if it is all of them.
            size: as `size_of` gives it for what is expected, where that was asked before.
        """
        got = outputs if at is None else outputs[at]
        if got.shape != expected.shape:
            return f"shape {got.shape}, expected {expected.shape}"
        if not got.size:
            return None
        errors = self._errors(got.reshape(-1), expected.reshape(-1), size)
        if errors.largest > self.worst:
            most = errors.at
            place = np.unravel_index(most, got.shape) if at is None else [x[most] for x in at]
            where = ", ".join(str(int(i)) for i in place)
            a, b = (self._numbers(x.reshape(-1)[most : most + 1])[0] for x in (got, expected))
            return f"element [{where}] is {a}, expected {b}"
        typical = math.sqrt(errors.squares / got.size)
        if typical > self.typical:
            return f"values are off by {typical:.2%} of their size, expected {self.typical:.2%}"
        return None

    def size_of(self, expected: Array) -> float:
        """What errors are relative to: how large the values are."""
        return _size(expected.reshape(-1), self.dtype)

    def _numbers(self, values: Array) -> Array:
        return as_float(values, self.dtype) if self.dtype in _EPSILON else values.astype(np.int64)

    def _errors(self, got: Array, expected: Array, size: float | None) -> _Errors:
        """Of all values: relative ones of floats, else differences."""
        if self.dtype not in _EPSILON:
            return self._integer_errors(got, expected, size)
        errors, size = _Errors(), self.size_of(expected) if size is None else size
        for start, one, other in _pieces(got, expected):
            a, b = as_float(one, self.dtype), as_float(other, self.dtype)
            errors.add(start, relative_error(a, b, size))
        return errors

    def _integer_errors(self, got: Array, expected: Array, size: float | None) -> _Errors:
        """Of integers that are rounded sums of floats, few may be one off.

        A sum is rounded the other way where it is less off than it is from the middle of two
        integers, so that the share of these is the sums' error in units.
        """
        errors, but_rounded, rounded = _Errors(), _Errors(), 0
        for start, one, other in _pieces(got, expected):
            error = np.abs(one.astype(np.int64) - other.astype(np.int64)).astype(np.float64)
            errors.add(start, error)
            if self.sums in _EPSILON:
                # Unsigned bytes are read as signed ones: 127 is beside 128, which is read as -128.
                one_off = (error == 1) | ((error == 255) & (self.dtype == "i8"))
                rounded += int(one_off.sum())
                but_rounded.add(start, np.where(one_off, 0.0, error))
        if self.sums not in _EPSILON:
            return errors
        size = self.size_of(expected) if size is None else size
        few = max(1.0, self._allowed(0) * max(1.0, size) * got.size)
        return but_rounded if rounded <= few else errors


@dataclass
class _Errors:
    """Errors of values that are compared piece by piece: the largest, its place, all squares."""

    largest: float = 0.0
    at: int = 0
    squares: float = 0.0

    def add(self, start: int, errors: Floats) -> None:
        most = int(errors.argmax())
        if errors[most] > self.largest:
            self.largest, self.at = float(errors[most]), start + most
        self.squares += float(errors @ errors)


def relative_error(got: Floats, expected: Floats, size: float | None = None) -> Floats:
    """Differences, relative to the size of the values: of all, or their own if that is larger.

    Args:
        size: of all, where these are a part of them.
    """
    finite = np.isfinite(expected)
    size = _size(expected.reshape(-1), "f64") if size is None else size
    scale = np.maximum(size, np.where(finite, np.abs(expected), 0.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        # Where the default overflows or divides by zero, a candidate has to, too.
        same = (got == expected) | (np.isnan(got) & np.isnan(expected))
        error = np.where(same, 0.0, np.abs(got - expected) / scale)
    # A NaN is not within what is allowed.
    return np.nan_to_num(error, nan=np.inf, posinf=np.inf)


def _size(values: Array, dtype: str) -> float:
    """The root mean square of values that are finite, but for what masks others.

    That is -1e9, say, or the least of a type, and beside it one score would be as good as another.
    """
    places = np.linspace(0, values.size - 1, min(values.size, _SAMPLE)).astype(np.int64)
    sample = _finite(values[places], dtype)
    positive = sample[sample > 0]
    masks_from = _MASKS * np.quantile(positive, 0.05) if positive.size else math.inf
    count, squares = 0, 0.0
    masks, least, most, masks_squares = 0, math.inf, 0.0, 0.0
    for _, part in _pieces(values):
        piece = _finite(part, dtype)
        masking = piece > masks_from
        if masking.any():
            high, piece = piece[masking], piece[~masking]
            least, most = min(least, float(high.min())), max(most, float(high.max()))
            masks, masks_squares = masks + high.size, masks_squares + float(high @ high)
        count, squares = count + piece.size, squares + float(piece @ piece)
    if least <= most / 2:  # these are values of all sizes
        count, squares = count + masks, squares + masks_squares
    return math.sqrt(squares / count) if count else 1.0


def _pieces(*arrays: Array) -> Iterator[tuple[Any, ...]]:
    """Where each piece begins, and the piece of each of some flat arrays of one size."""
    for start in range(0, arrays[0].size, _PIECE):
        yield start, *(array[start : start + _PIECE] for array in arrays)


def _finite(values: Array, dtype: str) -> Floats:
    """The absolute values of those that are finite."""
    numbers = np.abs(as_float(values, dtype))
    return numbers[np.isfinite(numbers)]


def without_finite(values: Array, dtype: str) -> bool:
    """Whether these are floats, and none is finite: others would be as right."""
    pieces = _pieces(values.reshape(-1))
    return (
        dtype in _EPSILON and values.size > 0 and not any(_finite(p, dtype).size for _, p in pieces)
    )


def coarsest(dtypes: Iterable[str]) -> str:
    """The one among element types that rounds most; empty if none is of floats."""
    return max((t for t in dtypes if t in _EPSILON), key=_EPSILON.__getitem__, default="")


def as_float(values: Array, dtype: str) -> npt.NDArray[np.float64]:
    """Values of an element type, bf16 as its bits, in float64."""
    if dtype == "bf16" and values.dtype == np.uint16:
        values = from_bf16(values)  # type: ignore[arg-type]
    return values.astype(np.float64)


class Reference(Protocol):
    """Gives expected outputs in place of the baseline: a generated operation, in NumPy."""

    @property
    def tolerance(self) -> Tolerance: ...

    def reference(self, inputs: Sequence[Array]) -> Array:
        """The outputs, in NumPy."""
