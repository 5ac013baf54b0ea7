"""A CpuView: the candidates of a CPU space by what their tiles do with vectors and operands.

Loops and operands are named by what vectors do with them, so that ops that are vectorized alike
look alike. The loop whose points share a vector may differ between candidates. It has the role `n`
unless it is a reduction, and all other parallel ones that are not a batch have `m`. `rhs` is each
input that a vector walks over, and `lhs` is each of which single elements are broadcast. Attention,
which is two products, is as its problem has it, and so is what has no vector loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ...search import Dim, Operand, kind_of
from ..view import ROLES, Column, Rows
from .loops import depends_on, inner_loops
from .tile_view import LEVELS, TileView
from .vectorized import vectorized_loops


@dataclass(frozen=True, eq=False)
class CpuView(TileView):
    """Candidates of one CPU problem, seen the way that most features look at them.

    What is named by vectors holds for candidates with the same vector loop: ask each of `parts`.
    """

    def parts(self) -> Iterator[tuple[Rows, Self]]:
        """Candidates whose vectors are along different loops are seen apart."""
        loops = np.unique(self.vector_loops)
        if len(loops) < 2:
            yield from super().parts()
            return
        for loop in loops:
            rows = np.flatnonzero(self.vector_loops == loop)
            yield rows, replace(self, candidates=self.candidates.iloc[rows])

    @cached_property
    def vector_loops(self) -> NDArray[np.intp]:
        """By candidate: the loop whose points share a vector, or -1 for none."""
        contiguous = self.inner_loop(self.problem.output)
        none = -1 if contiguous is None else contiguous
        return vectorized_loops(self.problem, self.tiles["vec"], none)

    @cached_property
    def vector_loop(self) -> int | None:
        """That of the first candidate, and of all in each of `parts`; None if there is none."""
        loop = int(next(iter(self.vector_loops), -1))
        return None if loop < 0 else loop

    @cached_property
    def packed_loops(self) -> tuple[int, ...]:
        """The loops whose points share vectors: `vector_loop`, after other reductions if it is one.

        Reductions inside of it have one point in a vector tile.
        """
        loop = self.vector_loop
        if loop is None:
            return ()
        if self.problem.dims[loop].parallel:
            return (loop,)
        return tuple(i for i, d in enumerate(self.problem.dims[: loop + 1]) if not d.parallel)

    def inner_loop(self, operand: Operand) -> int | None:
        """The first of `inner_loops`, if there is any."""
        return next(iter(inner_loops(self.problem, operand)), None)

    def has_vectors(self, operand: Operand) -> bool:
        """Whether points that share a vector read (or write) different elements of an operand."""
        return any(depends_on(operand, loop) for loop in self.packed_loops)

    @cached_property
    def dims(self) -> tuple[Dim, ...]:
        """The problem's loops, with the roles that they have for vectors."""
        if self.vector_loop is None or kind_of(self.problem).chained:
            return self.problem.dims
        dims = [replace(d, role="m") if d.role == "n" else d for d in self.problem.dims]
        if dims[self.vector_loop].parallel:
            dims[self.vector_loop] = replace(dims[self.vector_loop], role="n")
        return tuple(dims)

    @cached_property
    def slots(self) -> dict[str, tuple[Operand, ...]]:
        """By slot: inputs that are broadcast, inputs that vectors walk over, and the output."""
        if self.vector_loop is None or kind_of(self.problem).chained:
            return self.problem_slots
        inputs = [o for o in self.problem.inputs if o.index]
        return {
            "lhs": tuple(o for o in inputs if not self.has_vectors(o)),
            "rhs": tuple(o for o in inputs if self.has_vectors(o)),
            "out": (self.problem.output,),
        }

    @cached_property
    def by_role(self) -> dict[tuple[str, str], Column]:
        """By level and role: the product of the tiles of all loops with the role."""
        return {
            (level, role): self._product(t for t, d in self._loops(level) if d.role == role)
            for level in LEVELS
            for role in ROLES
        }

    @cached_property
    def flops(self) -> dict[str, Column]:
        """By level: operations per tile, counted as `Problem.flops` counts them."""
        if not kind_of(self.problem).chained:
            return {level: 2 * v for level, v in self.volume.items()}
        at = {d.name: i for i, d in enumerate(self.problem.dims)}
        first, second = (at[name] for name in kind_of(self.problem).excluded_loops)
        result = {}
        for level, volume in self.volume.items():
            n, k1 = self.tiles[level][first], self.tiles[level][second]
            result[level] = 2 * volume / (n * k1) * (n + k1)
        return result

    # Operands -----------------------------------------------------------------------------------

    @cached_property
    def extents(self) -> dict[tuple[str, Operand], tuple[Column, ...]]:
        """By level and operand: how far each dim of the tensor is touched by one tile."""
        return {
            (level, operand): tuple(self._extent(self.tiles[level], e) for e in operand.index)
            for level in LEVELS
            for operands in self.slots.values()
            for operand in operands
        }

    @cached_property
    def footprint(self) -> dict[tuple[str, str], Column]:
        """By level and slot: the bytes of the operands that one tile touches."""
        result = {}
        for level in LEVELS:
            for slot, operands in self.slots.items():
                total = self.constant(0)
                for o in operands:
                    total = total + self._product(self.extents[level, o]) * o.bytes_per_element
                result[level, slot] = total
        return result

    def total_footprint(self, level: str) -> Column:
        return (
            self.footprint[level, "lhs"]
            + self.footprint[level, "rhs"]
            + (self.footprint[level, "out"])
        )

    def inner_bytes(self, operand: Operand) -> Column:
        """Bytes of contiguous elements in the operand's part of the vector tile, or of its sums."""
        loop = self.inner_loop(operand)
        tile = self.constant(1) if loop is None else self.tiles["vec"][loop]
        return tile * (self.problem.sum_bytes if operand.output else operand.bytes_per_element)

    def lane_bytes(self, operand: Operand) -> Column:
        """Bytes in registers of the sums along the vector loop that an operand takes part in.

        Of what has one element for all points of a vector, the bytes of contiguous elements.
        """
        if self.vector_loop is None or not self.has_vectors(operand):
            return self.inner_bytes(operand)
        return self._inner_tile * self.problem.sum_bytes

    @cached_property
    def vector_bytes(self) -> int:
        return max(self.target.vector_bytes, 1)

    @cached_property
    def lanes(self) -> float:
        """How many sums a vector holds."""
        return max(self.vector_bytes / self.problem.sum_bytes, 1)

    @cached_property
    def cache_bytes(self) -> tuple[int, int, int]:
        """L1, L2, L3; where a level is missing, what the nearer one holds."""
        l1, l2, l3 = self.target.cache_bytes
        l1 = max(l1, 1)
        l2 = l2 or l1
        return l1, l2, l3 or l2

    # Counts -------------------------------------------------------------------------------------

    @cached_property
    def vector_ops(self) -> Column:
        """Vector operations in one vector tile, all unrolled into straight code."""
        return self.volume["vec"] / self._inner_tile * self._inner_vectors

    @cached_property
    def accumulators(self) -> Column:
        """Vector registers that hold the output tile (and attention's scores)."""
        out = self.footprint["step", "out"] / self.problem.output.bytes_per_element
        if self.has_vectors(self.problem.output):
            registers = out / self._inner_tile * self._inner_vectors
        else:
            registers = np.ceil(out * self.problem.sum_bytes / self.vector_bytes)
        first = kind_of(self.problem).first_reduction
        if first is not None:
            scores = self._product(
                t
                for t, d in self._loops("vec")
                if d.role == "m" or (d.role == "k" and d.name != first)
            )
            registers = registers + np.ceil(scores * 4 / self.vector_bytes)
        return registers

    @cached_property
    def loads(self) -> tuple[Column, Column]:
        """Per reduction step: vectors loaded, and single elements broadcast."""
        vectors, broadcasts = self.constant(0), self.constant(0)
        for operand in (*self.slots["lhs"], *self.slots["rhs"]):
            elements = self._product(self.extents["step", operand])
            if self.has_vectors(operand):
                size = operand.bytes_per_element
                vectors = vectors + np.ceil(elements * size / self.vector_bytes)
            else:
                broadcasts = broadcasts + elements
        return vectors, broadcasts

    # Helpers ------------------------------------------------------------------------------------

    @cached_property
    def _inner_tile(self) -> Column:
        """Points of the vector tile that share vectors."""
        return self._product(self.tiles["vec"][loop] for loop in self.packed_loops)

    @cached_property
    def _inner_vectors(self) -> Column:
        return np.ceil(self._inner_tile * self.problem.sum_bytes / self.vector_bytes)

    def _loops(self, level: str) -> list[tuple[Column, Dim]]:
        return list(zip(self.tiles[level], self.dims, strict=True))
