"""Working sets against cache capacities, and how often data is fetched again."""

from __future__ import annotations

import numpy as np

from ..registry import Theme
from ..view import SLOTS, Column
from .view import CpuView

theme = Theme("memory")


@theme.feature
def panel_l1(view: CpuView) -> Column:
    """log2 of both panels and the accumulators over L1: what the innermost loops live on."""
    return _fill(view, view.total_footprint("panel"), 1)


@theme.feature
def vec_l1(view: CpuView) -> Column:
    """log2 of one vector tile's data over L1: far above 0, even unrolled code misses."""
    return _fill(view, view.total_footprint("vec"), 1)


@theme.feature
def cache_rhs_l2(view: CpuView) -> Column:
    """log2 of the cache tile's rhs over L2: whether it survives until it is used again."""
    return _fill(view, view.footprint["cache", "rhs"], 2)


@theme.feature
def dist_out_l2(view: CpuView) -> Column:
    """log2 of the workgroup's output over L2: whether it stays until its reduction ends."""
    return _fill(view, view.footprint["dist", "out"], 2)


@theme.feature
def dist_l2(view: CpuView) -> Column:
    """log2 of the workgroup's data over L2: below 0 each byte is fetched once per workgroup."""
    return _fill(view, view.total_footprint("dist"), 2)


@theme.feature
def dist_l3(view: CpuView) -> Column:
    """log2 of all cores' workgroup data over L3: cores share it and evict one another."""
    cores = np.minimum(view.workgroups, max(view.target.cores, 1))
    return _fill(view, view.total_footprint("dist") * cores, 3)


@theme.feature
def cache_intensity_log2(view: CpuView) -> Column:
    """log2 of operations per byte of a cache tile: whether it hides the fetching of its data."""
    return np.log2(view.flops["cache"] / view.total_footprint("cache"))


@theme.feature
def traffic_dist_log2(view: CpuView) -> Column:
    """log2 of the bytes that all workgroups fetch over the bytes there are: memory traffic."""
    touched = view.workgroups * view.total_footprint("dist")
    return np.log2(touched / max(sum(view.bytes_of(s) for s in SLOTS), 1))


def _fill(view: CpuView, size: Column, level: int) -> Column:
    return np.log2(np.maximum(size, 1) / view.cache_bytes[level - 1])
