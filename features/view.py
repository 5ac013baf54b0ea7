"""A View: the candidates of one problem, and what is the same for all of them.

Operands are named by slot, whatever the kind: `lhs` is the first input, `rhs` all further inputs
(attention's key and value), `out` the output. `CpuView` names them by what vectors do with them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..core import InputError
from ..search import Gpu, Operand, Problem, Target

Column: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = "slice | NDArray[np.intp]"

ROLES = ("batch", "m", "n", "k")
SLOTS = ("lhs", "rhs", "out")


class CandidateView:
    """What features are computed from: it has `candidates`, a frame with a row for each."""

    def parts(self) -> Iterator[tuple[Rows, Self]]:
        """Candidates that have to be seen apart: the places of their rows, and a view of them.

        Each row is in one of the parts.
        """
        yield slice(None), self


@dataclass(frozen=True, eq=False)
class View(CandidateView):
    """Candidates of one problem, seen the way that features look at them.

    Attributes:
        candidates: one row per candidate, one integer column per knob. Knobs that features do not
            know are ignored.
    """

    problem: Problem
    target: Target
    candidates: pd.DataFrame

    def knob(self, name: str) -> Column | None:
        """The values of a knob, or None where the space has no such knob."""
        if name not in self.candidates.columns:
            return None
        return np.asarray(self.candidates[name].to_numpy(), dtype=np.float64)

    def constant(self, value: float) -> Column:
        return np.full(len(self.candidates), float(value))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(d.size for d in self.problem.dims)

    @cached_property
    def problem_slots(self) -> dict[str, tuple[Operand, ...]]:
        """By slot: the first input that is no scalar, the other ones, and the output."""
        inputs = tuple(o for o in self.problem.inputs if o.index)
        return {"lhs": inputs[:1], "rhs": inputs[1:], "out": (self.problem.output,)}

    @cached_property
    def slots(self) -> dict[str, tuple[Operand, ...]]:
        """By slot: operands as features name them, the problem's own unless a view says more."""
        return self.problem_slots

    @cached_property
    def shapes(self) -> dict[Operand, tuple[int, ...]]:
        """By operand: how far each dim of the tensor is touched by the whole problem."""
        return {o: self.problem.extents(o) for operands in self.slots.values() for o in operands}

    def bytes_of(self, slot: str) -> int:
        """The bytes of the slot's operands that the whole problem touches."""
        return sum(math.prod(self.shapes[o]) * o.bytes_per_element for o in self.slots[slot])

    def inner_loop(self, operand: Operand) -> int | None:
        """The loop that walks contiguous elements: stride 1 in the last index, parallel first."""
        if not operand.index:
            return None
        unit = [p for p, stride in operand.index[-1] if stride == 1]
        unit.sort(key=lambda p: not self.problem.dims[p].parallel)
        return unit[0] if unit else None


@dataclass(frozen=True, eq=False)
class DerivedView(View):
    """Candidates for GPUs: `view["threads"]` is a column that their space has derived of knobs.

    Attributes:
        what: they are candidates for, in words.
    """

    what: ClassVar[str]

    def __getitem__(self, name: str) -> Column:
        column = self.knob(name)
        if column is None:
            raise InputError(
                f"the {self.what} candidates lack the column {name!r}",
                "add it with frontrunner.search.enumeration.add_derived_columns",
            )
        return column

    @property
    def gpu(self) -> Gpu:
        assert self.target.gpu is not None
        return self.target.gpu

    @cached_property
    def cores(self) -> int:
        """Compute units."""
        return max(self.target.cores, 1)


def is_pow2(value: Column) -> Column:
    """1 for powers of two: what frexp splits into exactly a half and an exponent."""
    return np.asarray(np.frexp(value)[0] == 0.5, dtype=np.float64)
