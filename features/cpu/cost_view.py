"""A CostView: what the candidates of a CPU space would take on a simple model of its cores.

The model has the same unit for all kinds of ops, cycles over the least that the problem needs, so
that what was learned of some kinds holds for others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from ...search import Operand, kind_of
from ..view import Column
from .access import LINE
from .loops import depends_on, inner_loops
from .view import CpuView

# In a cycle a core does two of each, or one shuffle and one store. It waits so many cycles for a
# sum, and takes so many for the loops around a vector tile. Where others are under way, a line
# comes from L2 in 2 cycles, and from beyond in 8.
MULTIPLY_ADDS = LOADS = 2
ADD_LATENCY = 4
TILE_OVERHEAD = 5
L2_CYCLES, FAR_CYCLES = 2, 8


@dataclass(frozen=True)
class LoopNest:
    """One product (or sum, or map) that the vector tile computes: attention has two of them.

    Attributes:
        packed: the loops whose points share vectors, from the outermost one in. If they are
            reductions, elements of a vector are added up.
        loops: those that it has.
        reductions: those of them that it sums over.
        inputs: what it reads from memory.
    """

    packed: tuple[int, ...]
    loops: tuple[int, ...]
    reductions: tuple[int, ...]
    inputs: tuple[Operand, ...]

    @property
    def kept(self) -> tuple[int, ...]:
        """The loops that it does not sum over."""
        return tuple(loop for loop in self.loops if loop not in self.reductions)

    @property
    def adds_within(self) -> bool:
        """Whether elements of one vector are added up."""
        return any(loop in self.reductions for loop in self.packed)


@dataclass(frozen=True, eq=False)
class CostView(CpuView):
    """Candidates of one CPU problem, and what they cost on a simple model of a core."""

    @cached_property
    def nests(self) -> tuple[LoopNest, ...]:
        """What the vector tile computes, one after the other."""
        problem = self.problem
        loops = tuple(range(len(problem.dims)))
        reductions = tuple(i for i in loops if not problem.dims[i].parallel)
        inputs = tuple(o for o in problem.inputs if o.index)
        kind = kind_of(problem)
        if not kind.chained:
            return (LoopNest(self.packed_loops, loops, reductions, inputs),)
        # Its second product's vectors are along the output's columns, its first one's along keys.
        columns, head = (problem.dims.index(problem.dim(name)) for name in kind.excluded_loops)
        keys = tuple(i for i in reductions if i != head)
        scores = tuple(i for i in loops if i != columns)
        weighted = tuple(i for i in loops if i != head)
        return (
            LoopNest(keys[-1:], scores, (head,), inputs[:2]),
            LoopNest((columns,), weighted, keys, inputs[2:3]),
        )

    @cached_property
    def lanes(self) -> float:
        """How many sums a vector holds."""
        return max(self.vector_bytes / self.problem.sum_bytes, 1)

    @cached_property
    def least_ops(self) -> float:
        """Vector multiply-adds that the problem needs at least."""
        return max(self.problem.flops / 2 / self.lanes, 1)

    @cached_property
    def executed_ops(self) -> dict[LoopNest, Column]:
        """Vector multiply-adds of one vector tile, and additions of the elements of a vector."""
        return {nest: self._vectors(nest, nest.loops) + self._within(nest) for nest in self.nests}

    @cached_property
    def shuffles(self) -> dict[LoopNest, Column]:
        """Shuffles per vector tile that change the order of elements in registers."""
        return {nest: self._shuffles(nest) for nest in self.nests}

    @cached_property
    def core_cycles(self) -> Column:
        """Cycles that one vector tile takes where all of its data is in L1."""
        nests = (self._nest_cycles(nest) for nest in self.nests)
        return sum(nests, self.constant(TILE_OVERHEAD))

    @cached_property
    def fetched_lines(self) -> tuple[Column, Column]:
        """Cache lines that the whole problem brings into L1, and into L2.

        The loops are walked from the innermost one out. As long as the data of one iteration of a
        loop fits into a cache, each line is fetched once. Where not even that fits, each iteration
        fetches again all that the loops within it do.
        """
        operands = [o for some in self.slots.values() for o in some]
        tiles = list(self.tiles["vec"])
        lines = {o: self._lines(o, tiles) for o in operands}
        held = self._total(lines.values())
        capacities = [size / LINE for size in self.cache_bytes[:2]]
        fetched = [dict(lines) for _ in capacities]
        for loop, extent in self._outwards():
            trips = np.ceil(extent / tiles[loop])
            if trips.max(initial=1) <= 1:
                continue
            tiles[loop] = extent
            before, held_before = lines, held
            walked = {o: self._lines(o, tiles) for o in operands if depends_on(o, loop)}
            lines = before | walked
            held = self._total(lines.values())
            # Operands that do not depend on the loop stay where its last iteration left them.
            grown = {o: lines[o] / before[o] if o in walked else 1.0 for o in operands}
            for capacity, found in zip(capacities, fetched, strict=True):
                fits, fitted = held <= capacity, held_before <= capacity
                for o in operands:
                    again = found[o] * np.where(fitted, grown[o], trips)
                    found[o] = np.where(fits, lines[o], again)
        full = self.problem.points / self.volume["dist"]  # workgroups, smaller ones in part
        l1, l2 = (full * self._total(found.values()) for found in fetched)
        return l1, l2

    # Helpers ------------------------------------------------------------------------------------

    def _nest_cycles(self, nest: LoopNest) -> Column:
        """What is slowest of all that a vector tile of a nest does at the same time."""
        sums, packed = self._points(nest.kept), self._points(nest.packed)
        accumulators = self._vectors(nest, nest.kept)
        if nest.adds_within:  # as vectors of sums
            accumulators = np.ceil(sums / self.lanes)
        loads, streams = self.constant(0), 0
        for operand in nest.inputs:
            elements = self._elements(operand)
            if any(depends_on(operand, loop) for loop in nest.packed):
                loads = loads + elements / packed * np.ceil(packed / self.lanes)
                streams += 1
            else:
                loads = loads + elements
        shuffles = self.shuffles[nest] + self._within(nest)
        multiply_adds = self.executed_ops[nest] / MULTIPLY_ADDS
        if not nest.reductions:
            return _largest(multiply_adds, loads / LOADS, accumulators, shuffles)
        steps = self._vectors(nest, nest.reductions)
        spilled = np.maximum(0, accumulators + 1 + streams - max(self.target.registers, 1)) * steps
        stored = accumulators / self._steps(nest)
        # What is loaded and stored again takes as long as two loads: there is one store in a cycle.
        loads = loads + 2 * stored + 2 * spilled
        chain = ADD_LATENCY * (steps + self._halvings(nest))
        return _largest(multiply_adds, loads / LOADS, shuffles, chain)

    def _points(self, loops: Iterable[int]) -> Column:
        """How many points loops have in a vector tile."""
        return self._product(self.tiles["vec"][loop] for loop in loops)

    def _vectors(self, nest: LoopNest, loops: Sequence[int]) -> Column:
        """How many vectors the points of loops take in a vector tile."""
        packed = self._points(loop for loop in loops if loop in nest.packed)
        others = self._points(loop for loop in loops if loop not in nest.packed)
        return others * np.ceil(packed / self.lanes)

    def _halvings(self, nest: LoopNest) -> Column:
        """How often the halves of a vector are added up until one sum is left."""
        if not nest.adds_within:
            return self.constant(0)
        return np.ceil(np.log2(np.minimum(self._points(nest.packed), self.lanes)))

    def _within(self, nest: LoopNest) -> Column:
        """Additions of elements of one vector, per vector tile: for all sums, if any."""
        return self._halvings(nest) * self._points(nest.kept)

    def _steps(self, nest: LoopNest) -> Column:
        """How many vector tiles add to the same sums before these are stored."""
        cache, vec = self.tiles["cache"], self.tiles["vec"]
        return self._product(np.ceil(cache[loop] / vec[loop]) for loop in nest.reductions)

    def _shuffles(self, nest: LoopNest) -> Column:
        """Shuffles per vector tile of a nest whose vectors are across contiguous elements."""
        across = (self._transpose(nest, o) for o in nest.inputs if self._across(nest, o))
        total = self._total(across)
        output = self.problem.output
        if nest is self.nests[-1] and self._across(nest, output):
            # Each vector tile of a reduction brings its sums into order, and back.
            total = total + (2 if nest.reductions else 1) * self._elements(output)
        return total

    def _transpose(self, nest: LoopNest, operand: Operand) -> Column:
        """Shuffles that transpose an operand's part of a vector tile.

        On x86, 8x8 and 16x16 elements take log2(n) shuffles for each vector of n, and others about
        one for each element (0.4 to 1.5).
        """
        elements = self._elements(operand)
        rows = self.tiles["vec"][nest.packed[-1]]
        square = ((rows == 8) | (rows == 16)) & (elements == rows**2)
        lanes = np.minimum(rows, self.lanes)
        return elements * np.where(square, np.log2(lanes) / lanes, 1)

    def _across(self, nest: LoopNest, operand: Operand) -> bool:
        """Whether vectors walk over elements of an operand that are not contiguous."""
        if not nest.packed or self.sizes[nest.packed[-1]] == 1:
            return False
        inner = nest.packed[-1]
        return depends_on(operand, inner) and inner not in inner_loops(self.problem, operand)

    def _elements(self, operand: Operand) -> Column:
        """How many elements of an operand a vector tile touches."""
        tiles = self.tiles["vec"]
        return self._product(self._touched(tiles, terms)[1] for terms in operand.index)

    def _touched(
        self, tiles: Sequence[Column], terms: tuple[tuple[int, int], ...]
    ) -> tuple[Column, Column]:
        """How far a dim of a tensor is touched, and how many of the elements on the way are."""
        extent = self._extent(tiles, terms)
        points = self._product(tiles[loop] for loop, _ in terms)
        return extent, extent if extent is points else np.minimum(extent, points)

    def _lines(self, operand: Operand, tiles: list[Column]) -> Column:
        """How many cache lines the elements of an operand under tiles lie in."""
        run, rows = self.constant(operand.bytes_per_element), self.constant(1)
        whole = np.full(len(run), True)
        dims = list(zip(operand.index, self.shapes[operand], strict=True))
        for terms, full in reversed([dim for dim in dims if dim[1] > 1]):
            extent, touched = self._touched(tiles, terms)
            run = run * np.where(whole, extent, 1)
            rows = rows * np.where(whole, 1, touched)
            whole &= touched >= full
        return rows * np.ceil(run / LINE)

    def _outwards(self) -> Iterable[tuple[int, Column]]:
        """The loops around a vector tile from the innermost one out, each with its extent."""
        loops = range(len(self.problem.dims))[::-1]
        order = sorted(loops, key=lambda i: self.problem.dims[i].parallel)
        for level in ("cache", "dist"):
            for loop in order:
                yield loop, self.tiles[level][loop]

    def _total(self, columns: Iterable[Column]) -> Column:
        return sum(columns, self.constant(0))


def _largest(*columns: Column) -> Column:
    """The largest of all in each row."""
    return reduce(np.maximum, columns)
