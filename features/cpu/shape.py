"""The tiles themselves: sizes, powers of two, proportions."""

from __future__ import annotations

import numpy as np

from ..registry import Theme
from ..view import ROLES, Column, is_pow2
from .view import CpuView

theme = Theme("shape")


@theme.each("dist_{}_log2", ("batch", "m", "n"))
def dist(view: CpuView, role: str) -> Column:
    """log2 of the workgroup tile's {} size: the grain of parallelism and of reuse."""
    return np.log2(view.by_role["dist", role])


@theme.each("cache_{}_log2", ("m", "n", "k"))
def cache(view: CpuView, role: str) -> Column:
    """log2 of the cache tile's {} size: what the inner loops walk over again and again."""
    return np.log2(view.by_role["cache", role])


@theme.each("vec_{}_log2", ROLES)
def vec(view: CpuView, role: str) -> Column:
    """log2 of the vector tile's {} size: what is unrolled into straight code."""
    return np.log2(view.by_role["vec", role])


@theme.each("vec_{}_pow2", ("m", "n", "k"))
def vec_pow2(view: CpuView, role: str) -> Column:
    """1 where the vector tile's {} size is a power of two: it divides vectors and extents well."""
    return is_pow2(view.by_role["vec", role])


@theme.feature
def cache_k_pow2(view: CpuView) -> Column:
    """1 where the cache tile's reduction size is a power of two: vector tiles then divide it."""
    return is_pow2(view.by_role["cache", "k"])


@theme.feature
def vec_volume_log2(view: CpuView) -> Column:
    """log2 of the points of a vector tile: unrolled work between two loop branches."""
    return np.log2(view.volume["vec"])


@theme.feature
def area_to_volume(view: CpuView) -> Column:
    """(mn + mk + nk) / mnk of the vector tile: elements touched per multiply-add; less is reuse."""
    return sum(1 / view.by_role["vec", role] for role in ("m", "n", "k"))  # type: ignore[return-value]


@theme.feature
def area_to_volume_mn(view: CpuView) -> Column:
    """(m + n) / mn of the vector tile: loads per multiply-add while accumulators stay put."""
    return 1 / view.by_role["vec", "m"] + 1 / view.by_role["vec", "n"]


@theme.feature
def vec_aspect_log2(view: CpuView) -> Column:
    """log2 of the vector tile's n over m: wide tiles load vectors, tall ones broadcast elements."""
    return np.log2(view.by_role["vec", "n"] / view.by_role["vec", "m"])


@theme.feature
def dist_aspect_log2(view: CpuView) -> Column:
    """log2 of the workgroup tile's n over m: which operand each workgroup reads more of."""
    return np.log2(view.by_role["dist", "n"] / view.by_role["dist", "m"])


@theme.feature
def cache_k_share(view: CpuView) -> Column:
    """The share of the reduction in one cache tile: below 1, the output is revisited."""
    return view.by_role["cache", "k"] / view.by_role["dist", "k"]


@theme.each("cache_splits_{}", ("m", "n"))
def cache_splits(view: CpuView, role: str) -> Column:
    """log2 of the workgroup tile's {} over the cache tile's: 0 where the cache level is unused."""
    return np.log2(view.by_role["dist", role] / view.by_role["cache", role])
