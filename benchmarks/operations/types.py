"""Element types of operations: of what they read, and of what they sum up in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core import InputError
from ..verifying import F8, NUMPY_TYPES, from_bf16, to_bf16

# What is computed with.
Values = npt.NDArray[Any]

# By element type of the operands, what products of them may be summed up in; the usual one first.
SUMS = {
    **dict.fromkeys(F8, ("f32",)),
    "f16": ("f32", "f16"),
    "bf16": ("f32", "bf16"),
    "f32": ("f32",),
    "f64": ("f64",),
    "i8": ("i32",),
    "i16": ("i32",),
    "i32": ("i32",),
}
# Of these, sums of products are exact in f64, in which BLAS is fast, as long as they fit at all.
_NARROW = ("i8", "i16")


@dataclass(frozen=True)
class Types:
    """Element types of a product.

    Attributes:
        operands: of both operands.
        sums: of the sums of their products.
    """

    operands: str = "f32"
    sums: str = "f32"

    def __post_init__(self) -> None:
        if self.sums not in SUMS.get(self.operands, ()):
            raise unsupported(f"{self.operands},{self.operands},{self.sums}")

    @property
    def is_integer(self) -> bool:
        """Whether they are integers."""
        return self.sums.startswith("i")

    @property
    def words(self) -> tuple[str, str, str]:
        """Of the left operand, the right one and the result."""
        return self.operands, self.operands, self.sums

    @property
    def short(self) -> str:
        """For names: one word where all are the same."""
        return "_".join(self.words) if self.operands != self.sums else self.sums

    @property
    def exact(self) -> np.dtype[np.generic]:
        """What NumPy computes a reference in."""
        wide = not self.is_integer or self.operands in _NARROW
        return np.dtype(np.float64 if wide else np.int64)


F32 = Types()


def parse_types(text: str) -> Types:
    """Types as users write them: `f16` for the usual sums, or `f16,f16,f32`.

    Raises:
        InputError: they are not supported.
    """
    words = [word.strip() for word in text.split(",")]
    if len(words) == 1 and words[0] in SUMS:
        return Types(words[0], SUMS[words[0]][0])
    if len(words) != 3 or words[0] != words[1]:
        raise unsupported(text)
    return Types(words[0], words[2])


def unsupported(text: str) -> InputError:
    known = [f"{o},{o},{s}" for o, sums in SUMS.items() for s in sums]
    return InputError(f"element types {text!r} are not supported", f"use one of: {' '.join(known)}")


def widen(
    values: Sequence[Values], dtypes: Sequence[str], to: np.dtype[np.generic]
) -> list[Values]:
    """Arrays of given element types, as one to compute in."""
    return [
        (from_bf16(array) if dtype == "bf16" else array).astype(to, copy=False)
        for array, dtype in zip(values, dtypes, strict=True)
    ]


def narrow(values: Values, dtype: str) -> Values:
    """Computed values as an element type: integers wrap around, floats are rounded."""
    if dtype == "bf16":
        return to_bf16(values.astype(np.float32))
    if dtype.startswith("i"):
        return values.astype(np.int64).astype(NUMPY_TYPES[dtype])
    with np.errstate(over="ignore"):
        return values.astype(NUMPY_TYPES[dtype])
