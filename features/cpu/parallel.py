"""How the work spreads over cores, and how much loop there is around it."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from ..registry import Theme
from ..view import Column
from .view import CpuView

theme = Theme("parallel")


@theme.feature
def workgroups_log2(view: CpuView) -> Column:
    """log2 of the number of workgroups: many balance well, each costs a dispatch."""
    return np.log2(view.workgroups)


@theme.feature
def workgroups_per_core_log2(view: CpuView) -> Column:
    """log2 of workgroups per core: below 0 cores stay idle."""
    return np.log2(view.workgroups / _cores(view))


@theme.feature
def critical_path(view: CpuView) -> Column:
    """log2 of the busiest core's work over an even share: bounds the speed-up."""
    # Full workgroups first, as many as there are cores at a time, then those of remainders.
    cores, full = _cores(view), view.volume["dist"]
    tiles = list(zip(view.tiles["dist"], view.sizes, strict=True))
    count = math.prod(np.floor(size / tile) for tile, size in tiles)
    smaller = view.problem.points - count * full
    idle = np.where(count % cores > 0, cores - count % cores, 0) * full
    rest = np.maximum(smaller - idle, 0)
    largest = full * reduce(np.maximum, [size % tile / tile for tile, size in tiles])
    last = np.where(rest > 0, np.maximum(rest / cores, largest), 0)
    busiest = np.ceil(count / cores) * full + last
    return np.log2(busiest * cores / view.problem.points)


@theme.feature
def workgroup_flops_log2(view: CpuView) -> Column:
    """log2 of operations per workgroup: too few do not pay for handing it out."""
    return np.log2(view.flops["dist"])


@theme.feature
def vec_tiles_log2(view: CpuView) -> Column:
    """log2 of vector tiles in the problem: how often loop branches and address arithmetic run."""
    return np.log2(view.vec_tiles)


@theme.feature
def vec_tiles_per_workgroup_log2(view: CpuView) -> Column:
    """log2 of vector tiles per workgroup: prologues weigh more where there are few."""
    return np.log2(view.volume["dist"] / view.volume["vec"])


@theme.feature
def k_steps_log2(view: CpuView) -> Column:
    """log2 of reduction steps per panel: few steps do not pay for loading the accumulators."""
    return np.log2(view.by_role["cache", "k"] / view.by_role["vec", "k"])


@theme.feature
def accumulator_visits_log2(view: CpuView) -> Column:
    """log2 of how often the output tile is loaded and stored: once per cache tile of k."""
    return np.log2(view.by_role["dist", "k"] / view.by_role["cache", "k"])


@theme.feature
def code_size_log2(view: CpuView) -> Column:
    """log2 of unrolled vector ops, doubled per peeled loop: too much code misses in the icache."""
    peel = view.knob("peel")
    variants = 0 if peel is None else view.ragged_loops * (peel > 0)
    return np.log2(view.vector_ops) + variants


def _cores(view: CpuView) -> int:
    return max(view.target.cores, 1)
