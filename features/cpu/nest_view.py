"""A NestView: the instructions that vector tiles of a CPU space become, as the compiler has them.

The rules were read from IREE's IR and from LLVM's assembly for AVX2 and AVX-512 (IREE 3.13).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...search import Operand, kind_of
from ..view import Column, is_pow2
from .loops import depends_on, inner_loops
from .traffic_view import TrafficView

# Shuffles for each element that is transposed: 0.9 to 1.5 in assembly, and 0.375 to 0.44 for tiles
# of at most eight columns on AVX-512.
TRANSPOSED, TRANSPOSED_NARROW = 1, 0.4
# For each masked operation of products: 0.5 to 1.5 with the mask registers that come with 64-byte
# vectors, and 1 to 2.2 without, where sums are spilled, too, which takes as long again.
MASKED_BY_REGISTERS, MASKED = 1.5, 3
# For each sum of vectors that are taken apart: 2.4 to 2.8. Times say less (seven products): some
# machines do two shuffles in a cycle.
TAKEN_APART = 1.5


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

    def broadcasts(self, operand: Operand) -> bool:
        """Whether points that share a vector read the same element of an operand."""
        return not any(depends_on(operand, loop) for loop in self.packed)


@dataclass(frozen=True, eq=False)
class NestView(TrafficView):
    """Candidates of one CPU problem, and what their vector tiles execute."""

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
    def executed_ops(self) -> dict[LoopNest, Column]:
        """Multiply-adds of one vector tile, and additions of the elements of a vector."""
        return {
            nest: np.where(
                self.scalar,
                self.points(nest.loops),
                self.vectors(nest, nest.loops) + self.additions_within(nest),
            )
            for nest in self.nests
        }

    @cached_property
    def shuffles(self) -> dict[LoopNest, Column]:
        """Shuffles per vector tile that move elements within registers, or into others."""
        return {
            nest: np.where(
                self.scalar,
                0,
                self._transposed_inputs(nest)
                + self._transposed_sums(nest)
                + self._masks(nest)
                + self._taken_apart(nest),
            )
            for nest in self.nests
        }

    @cached_property
    def scalar(self) -> NDArray[np.bool_]:
        """Whether nothing is vectorized, which happens to convolutions.

        Those with two dims are vectorized if all sizes of the vector tile are known to the
        compiler, or if the whole window is unrolled; depthwise ones with channels first only then.
        `DoubleTilingExpert`, the pipeline that can peel, vectorizes none of them.
        """
        if len(self.problem.window_loops) < 2:
            return np.full(len(self.candidates), False)
        if self.knob("peel") is not None:
            return np.full(len(self.candidates), True)
        inner = self.inner_loop(self.problem.output)
        channels_last = inner is not None and self.problem.dims[inner].role == "n"
        depthwise = bool(dict(self.problem.traits).get("depthwise"))
        never = depthwise and not channels_last
        return ~self.whole_window & (never | (self.unknown_sizes > 0))

    def vectors(self, nest: LoopNest, loops: Sequence[int]) -> Column:
        """How many vectors the points of loops take in a vector tile."""
        packed = self.points(loop for loop in loops if loop in nest.packed)
        others = self.points(loop for loop in loops if loop not in nest.packed)
        return others * np.ceil(packed / self.lanes)

    def halvings(self, nest: LoopNest) -> Column:
        """How often the halves of a vector are added up until one sum is left."""
        if not nest.adds_within:
            return self.constant(0)
        return np.ceil(np.log2(np.minimum(self.points(nest.packed), self.lanes)))

    def additions_within(self, nest: LoopNest) -> Column:
        """Additions of elements of one vector, per vector tile: for all sums, if any."""
        return self.halvings(nest) * self.points(nest.kept)

    def steps(self, nest: LoopNest) -> Column:
        """How many vector tiles add to the same sums before these are stored."""
        cache, vec = self.tiles["cache"], self.tiles["vec"]
        return self._product(np.ceil(cache[loop] / vec[loop]) for loop in nest.reductions)

    def results(self, nest: LoopNest) -> Column:
        """Vectors of sums, or of a map's results. Sums of elements of vectors are packed."""
        if nest.adds_within:
            return np.ceil(self.points(nest.kept) / self.lanes)
        return self.vectors(nest, nest.kept)

    def loaded(self, nest: LoopNest, operand: Operand) -> Column:
        """Vectors, or single elements that are broadcast, of an operand's part of a vector tile."""
        elements = self.elements(operand)
        if nest.broadcasts(operand):
            return elements
        walked = self.points(loop for loop in nest.packed if depends_on(operand, loop))
        return elements / walked * np.ceil(walked / self.lanes)

    def reuse(self, nest: LoopNest, operand: Operand) -> Column:
        """How many vector tiles in a row find the same part of an operand in registers."""
        cache, vec = self.tiles["cache"], self.tiles["vec"]
        times = self.constant(1)
        same = self.results(nest) + self.loaded(nest, operand) < self.target.registers
        for loop in self.inner_loops_first:
            trips = np.ceil(cache[loop] / vec[loop])
            if depends_on(operand, loop):
                same = same & (trips == 1)
            else:
                times = times * np.where(same, trips, 1)
        return times

    def points(self, loops: Iterable[int]) -> Column:
        """How many points loops have in a vector tile."""
        return self._product(self.tiles["vec"][loop] for loop in loops)

    def elements(self, operand: Operand) -> Column:
        """How many elements of an operand a vector tile touches."""
        tiles = self.tiles["vec"]
        return self._product(self._touched(tiles, terms)[1] for terms in operand.index)

    # Helpers ------------------------------------------------------------------------------------

    def _transposed_inputs(self, nest: LoopNest) -> Column:
        """Inputs whose elements are not contiguous along the vectors."""
        across = (o for o in nest.inputs if self._across(nest, o))
        return self._total(self._transposed(nest, o) / self.reuse(nest, o) for o in across)

    def _transposed(self, nest: LoopNest, operand: Operand) -> Column:
        """An operand's part of a vector tile: 8x8 and 16x16 elements take log2(n) per vector."""
        elements = self.elements(operand)
        rows = self.tiles["vec"][nest.packed[-1]]
        columns = elements / rows
        square = ((rows == 8) | (rows == 16)) & (columns == rows)
        lanes = np.minimum(rows, self.lanes)
        narrow = (is_pow2(rows) * is_pow2(columns) == 1) & (columns > 1) & (columns <= 8)
        narrow &= self.lanes >= 16
        rates = [self.constant(0), np.log2(lanes) / lanes, self.constant(TRANSPOSED_NARROW)]
        return elements * np.select([rows == 1, square, narrow], rates, TRANSPOSED)

    def _transposed_sums(self, nest: LoopNest) -> Column:
        """The output: each vector tile of a reduction brings its sums into order, and back."""
        output = self.problem.output
        if nest is not self.nests[-1] or not self._across(nest, output):
            return self.constant(0)
        elements = self.elements(output)
        inner = self.inner_loop(output)
        if not nest.reductions or inner is None:
            return TRANSPOSED * elements
        return 2 * TRANSPOSED * elements * (self.tiles["vec"][inner] > 1)

    def _across(self, nest: LoopNest, operand: Operand) -> bool:
        """Whether vectors walk over elements of an operand that are not contiguous."""
        if not nest.packed or self.sizes[nest.packed[-1]] == 1:
            return False
        inner = nest.packed[-1]
        return depends_on(operand, inner) and inner not in inner_loops(self.problem, operand)

    def _masks(self, nest: LoopNest) -> Column:
        """Masks of products: the elements that are broadcast come from masked vectors then."""
        products = nest.reductions and not kind_of(self.problem).memory_bound
        if not products or not any(nest.broadcasts(o) for o in nest.inputs):
            return self.constant(0)
        each = MASKED_BY_REGISTERS if self.vector_bytes >= 64 else MASKED
        return each * self.masked * self.vectors(nest, nest.loops)

    def _taken_apart(self, nest: LoopNest) -> Column:
        """Sums of products in vectors that are longer than a register, and no power of two.

        LLVM carries none of these around a loop: it takes them apart and builds them again.
        """
        inner = self.inner_loop(self.problem.output)
        if inner is None or inner not in nest.kept or kind_of(self.problem).memory_bound:
            return self.constant(0)
        tile = self.tiles["vec"][inner]
        apart = (is_pow2(tile) == 0) & (tile > self.lanes) & (self.steps(nest) > 1)
        return self.points(nest.kept) * np.where(apart, TAKEN_APART, 0)
