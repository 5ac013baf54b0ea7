"""The tiles themselves: sizes, powers of two, proportions."""

from __future__ import annotations

import numpy as np

from ..registry import Theme
from ..view import ROLES, Column, is_pow2
from .view import CpuView

theme = Theme("shape")


@theme.each("dist_{}_log2", ("m", "n"))
def dist(view: CpuView, role: str) -> Column:
    """log2 of the workgroup tile's {} size: the grain of parallelism and of reuse."""
    return np.log2(view.by_role["dist", role])


@theme.each("cache_{}_log2", ("n", "k"))
def cache(view: CpuView, role: str) -> Column:
    """log2 of the cache tile's {} size: what the inner loops walk over again and again."""
    return np.log2(view.by_role["cache", role])


@theme.each("vec_{}_log2", ROLES)
def vec(view: CpuView, role: str) -> Column:
    """log2 of the vector tile's {} size: what is unrolled into straight code."""
    return np.log2(view.by_role["vec", role])


@theme.each("vec_{}_pow2", ("n", "k"))
def vec_pow2(view: CpuView, role: str) -> Column:
    """1 where the vector tile's {} size is a power of two: it divides vectors and extents well."""
    return is_pow2(view.by_role["vec", role])


@theme.feature
def vec_volume_log2(view: CpuView) -> Column:
    """log2 of the points of a vector tile: unrolled work between two loop branches."""
    return np.log2(view.volume["vec"])


@theme.feature
def area_to_volume(view: CpuView) -> Column:
    """(mn + mk + nk) / mnk of the vector tile: elements touched per multiply-add; less is reuse."""
    return sum(1 / view.by_role["vec", role] for role in ("m", "n", "k"))  # type: ignore[return-value]


@theme.feature
def vec_aspect_log2(view: CpuView) -> Column:
    """log2 of the vector tile's n over m: wide tiles load vectors, tall ones broadcast elements."""
    return np.log2(view.by_role["vec", "n"] / view.by_role["vec", "m"])
