"""A CostView: what the candidates of a CPU space would take on a simple model of its cores.

The model has the same unit for all kinds of ops, cycles over the least that the problem needs, so
that what was learned of some kinds holds for others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from ...search import kind_of
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
        return np.where(self.scalar, scalar, vectorized)

    # Helpers ------------------------------------------------------------------------------------

    def _nest_cycles(self, nest: LoopNest) -> Column:
        """What is slowest of all that a vector tile of a nest does at the same time."""
        multiply_adds = self.executed_ops[nest] / MULTIPLY_ADDS
        shuffles = self.shuffles[nest] + self.additions_within(nest)
        results = self.results(nest)
        loads = self._total(self.loaded(nest, o) / self.reuse(nest, o) for o in nest.inputs)
        # What is loaded and stored again takes as long as two loads: there is one store in a cycle.
        loads = loads + 2 * self._spilled(nest)
        overhead = TILE_OVERHEAD / len(self.nests)
        if not nest.reductions:
            return _largest(multiply_adds, loads / LOADS, results, shuffles) + overhead
        loads = loads + 2 * results / self.steps(nest)
        # The loops around run while sums are waited for.
        chain = ADD_LATENCY * (self.vectors(nest, nest.reductions) + self.halvings(nest))
        return _largest(_largest(multiply_adds, loads / LOADS, shuffles) + overhead, chain)

    def _spilled(self, nest: LoopNest) -> Column:
        """How often a vector is stored and loaded again, for want of registers."""
        vectors = [self.loaded(nest, o) for o in nest.inputs if not nest.broadcasts(o)]
        missing = self.results(nest) - max(self.target.registers, 1)
        if not nest.reductions:
            return np.maximum(0, missing + self._total(vectors))
        steps = self.vectors(nest, nest.reductions)
        if kind_of(self.problem).memory_bound:
            live = self.constant(len(vectors))  # each vector is used once
        else:
            live = self._total(vectors) / steps + 1  # beside an element that is broadcast
        return SPILLED * np.maximum(0, missing + live) * steps


def _largest(*columns: Column) -> Column:
    """The largest of all in each row."""
    return reduce(np.maximum, columns)
