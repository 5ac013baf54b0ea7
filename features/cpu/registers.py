"""What one vector tile asks of the register file and of the vector units."""

from __future__ import annotations

from functools import reduce

import numpy as np

from ...search import Operand
from ..registry import Theme
from ..view import SLOTS, Column
from .loops import depends_on
from .view import CpuView

theme = Theme("registers")


@theme.feature
def accumulator_pressure(view: CpuView) -> Column:
    """Accumulator registers over all registers: near 1 there is no room left for operands."""
    return view.accumulators / max(view.target.registers, 1)


@theme.feature
def register_pressure(view: CpuView) -> Column:
    """Accumulators and one step's operand vectors over all registers: above 1 it spills."""
    vectors, broadcasts = view.loads
    # A broadcast can come straight from memory; one register is enough for all of them.
    needed = view.accumulators + vectors + np.minimum(broadcasts, 1)
    return needed / max(view.target.registers, 1)


@theme.feature
def tile_pressure_log2(view: CpuView) -> Column:
    """log2 of the vector tile's operands over the register file: what a schedule may hoist."""
    capacity = max(view.target.registers, 1) * view.vector_bytes
    return np.log2(view.total_footprint("vec") / capacity)


@theme.feature
def independent_chains_log2(view: CpuView) -> Column:
    """log2 of accumulator vectors: few leave the multiply-add latency uncovered."""
    return np.log2(view.accumulators)


@theme.feature
def loads_per_fma(view: CpuView) -> Column:
    """Loads and broadcasts per vector multiply-add of a step: many, and the load ports limit."""
    vectors, broadcasts = view.loads
    return (vectors + broadcasts) / view.accumulators


@theme.feature
def register_intensity_log2(view: CpuView) -> Column:
    """log2 of operations per byte of inputs loaded by a vector tile: reuse in registers."""
    loaded = view.footprint["vec", "lhs"] + view.footprint["vec", "rhs"]
    return np.log2(view.flops["vec"] / np.maximum(loaded, 1))


@theme.feature
def vector_ops_log2(view: CpuView) -> Column:
    """log2 of unrolled vector operations per vector tile: work per branch, and compile time."""
    return np.log2(view.vector_ops)


@theme.each("inner_vectors_{}", SLOTS)
def inner_vectors(view: CpuView, slot: str) -> Column:
    """log2 of the {}'s sums side by side over a native vector: 0 is exactly one vector."""
    return np.log2(_lane_bytes(view, slot) / view.vector_bytes)


@theme.each("lane_fill_{}", SLOTS)
def lane_fill(view: CpuView, slot: str) -> Column:
    """The share of lanes used by the {}'s sums side by side: 1 is whole native vectors."""
    tile = _lane_bytes(view, slot)
    lanes: Column = np.ceil(tile / view.vector_bytes) * view.vector_bytes
    return tile / lanes


@theme.feature
def dot_mismatch(view: CpuView) -> Column:
    """Octaves between a dot product's tile and one vector by one: others add outside registers."""
    # Of a matrix that is used once and contiguous along the reduction. All other tiles than 8x8 on
    # AVX2, and 16x16 on AVX-512, take 1.25 to 20 times as long (four recordings).
    for operand in (*view.slots["lhs"], *view.slots["rhs"]):
        loop = view.inner_loop(operand)
        if loop is None or view.problem.dims[loop].parallel or not _used_once(view, operand):
            continue
        sides = [view.inner_bytes(o) for o in (operand, *view.slots["out"])]
        return reduce(np.add, [np.abs(np.log2(side / view.vector_bytes)) for side in sides])
    return view.constant(0)


def _used_once(view: CpuView, operand: Operand) -> bool:
    """Whether every element of an operand takes part in one multiply-add only."""
    return all(depends_on(operand, i) for i, size in enumerate(view.sizes) if size > 1)


def _lane_bytes(view: CpuView, slot: str) -> Column:
    """The least of the slot's operands: the worst served one sets the pace."""
    columns = [view.lane_bytes(operand) for operand in view.slots[slot]]
    return reduce(np.minimum, columns) if columns else view.constant(view.vector_bytes)
