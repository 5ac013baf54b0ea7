"""How executables of a dispatch are called: the same for the default and for every candidate."""

from __future__ import annotations

from dataclasses import dataclass

from .formula import Formula
from .tolerance import Tolerance

Tensors = tuple[tuple[tuple[int, ...], str], ...]


@dataclass(frozen=True)
class Call:
    """A function with the shapes and element types of what it takes and gives.

    Attributes:
        reduction: how many terms are summed up in an output; tolerances grow with it.
        sums: the element type that they are summed up in; empty if it is the outputs'.
        formula: what is computed; None where that is more than sums of products.
        repeated: a function that does the same `repeats` times, for timing; empty if there is none.
    """

    function: str
    inputs: Tensors
    outputs: Tensors
    reduction: int
    sums: str = ""
    formula: Formula | None = None
    repeated: str = ""
    repeats: int = 1

    def tolerance(self, dtype: str) -> Tolerance:
        """How far outputs of an element type may be off."""
        return Tolerance(dtype, self.reduction, self.sums)
