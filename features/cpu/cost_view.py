"""A CostView: what the candidates of a CPU space would take on a simple model of its cores.

The model has the same unit for all kinds of ops, cycles over the least that the problem needs, so
that what was learned of some kinds holds for others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from ..view import Column
from .nest_view import LoopNest, NestView

# In a cycle a core does two of each, or one shuffle and one store. It takes so many cycles for the
# loops around a vector tile. It waits 4 for a sum, of which another thread of it uses some.
MULTIPLY_ADDS = LOADS = 2
TILE_OVERHEAD = 3
ADD_LATENCY = 2.5
# Where others are under way, a line comes in so many cycles from L2, and from beyond.
L2_CYCLES, FAR_CYCLES = 1, 4
# Where nothing is vectorized, a multiply-add loads and stores its sum.
SCALAR_CYCLES = 2
# LLVM spills more accumulators than there are registers missing.
SPILLED = 1.4


@dataclass(frozen=True, eq=False)
class CostView(NestView):
    """Candidates of one CPU problem, and what they cost on a simple model of a core."""

    @cached_property
    def least_ops(self) -> float:
        """Vector multiply-adds that the problem needs at least."""
        return max(self.problem.flops / 2 / self.lanes, 1)

    @cached_property
    def core_cycles(self) -> Column:
        """Cycles that one vector tile takes where all of its data is in L1."""
        vectorized = self._total(self._nest_cycles(nest) for nest in self.nests)
        scalar = SCALAR_CYCLES * self.problem.points / self.vec_tiles
        return np.where(self.scalar > 0, scalar, vectorized + TILE_OVERHEAD)

    # Helpers ------------------------------------------------------------------------------------

    def _nest_cycles(self, nest: LoopNest) -> Column:
        """What is slowest of all that a vector tile of a nest does at the same time."""
        vectors, broadcasts = self._loads(nest)
        loads = vectors + broadcasts
        multiply_adds = self.executed_ops[nest] / MULTIPLY_ADDS
        shuffles = self.shuffles[nest] + self.additions_within(nest)
        registers = max(self.target.registers, 1)
        results = self._results(nest)
        # What is loaded and stored again takes as long as two loads: there is one store in a cycle.
        if not nest.reductions:
            spilled = np.maximum(0, vectors + results - registers)
            return _largest(multiply_adds, (loads + 2 * spilled) / LOADS, results, shuffles)
        steps = self.vectors(nest, nest.reductions)
        missing = results + vectors / steps + 1 - registers
        spilled = SPILLED * np.maximum(0, missing) * steps
        loads = loads + 2 * spilled + 2 * results / self.steps(nest)
        # The loops around run while sums are waited for.
        chain = ADD_LATENCY * (steps + self.halvings(nest)) - TILE_OVERHEAD
        return _largest(multiply_adds, loads / LOADS, shuffles, chain)

    def _loads(self, nest: LoopNest) -> tuple[Column, Column]:
        """Per vector tile: vectors loaded, and single elements broadcast."""
        packed = self.points(nest.packed)
        vectors, broadcasts = self.constant(0), self.constant(0)
        for operand in nest.inputs:
            elements = self.elements(operand) / self.reuse(operand)
            if nest.broadcasts(operand):
                broadcasts = broadcasts + elements
            else:
                vectors = vectors + elements / packed * np.ceil(packed / self.lanes)
        return vectors, broadcasts

    def _results(self, nest: LoopNest) -> Column:
        """Vectors of sums, or of a map's results. Sums of elements of vectors are packed."""
        if nest.adds_within:
            return np.ceil(self.points(nest.kept) / self.lanes)
        return self.vectors(nest, nest.kept)


def _largest(*columns: Column) -> Column:
    """The largest of all in each row."""
    return reduce(np.maximum, columns)
