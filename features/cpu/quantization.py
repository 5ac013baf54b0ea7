"""What is lost where a tile does not divide what it tiles."""

from __future__ import annotations

import math

from ..registry import Theme
from ..view import Column
from .view import CpuView

theme = Theme("quantization")


@theme.feature
def dist_waste(view: CpuView) -> Column:
    """Padding of all dims to whole workgroup tiles, relative: uneven workgroups."""
    return view.padding["dist"] - 1


@theme.feature
def cache_waste(view: CpuView) -> Column:
    """Padding to whole cache tiles over all dims, relative: ragged cache tiles."""
    return view.padding["cache"] - 1


@theme.feature
def vec_waste(view: CpuView) -> Column:
    """Padding to whole vector tiles over all dims, relative: ragged vector loops."""
    return view.padding["vec"] - 1


@theme.feature
def partial(view: CpuView) -> Column:
    """The share of the work outside full vector tiles, through all levels: it runs on slow code."""
    full = (points / size for (_, points), size in zip(view.vec_counts, view.sizes, strict=True))
    return 1 - math.prod(full, start=view.constant(1))


@theme.feature
def partial_inner(view: CpuView) -> Column:
    """The share of the vectors' own dims outside full vector tiles: whole vectors are lost."""
    full = (view.vec_counts[loop][1] / view.sizes[loop] for loop in view.packed_loops)
    return 1 - math.prod(full, start=view.constant(1))


@theme.feature
def peel(view: CpuView) -> Column:
    """1 where the compiler knows how large vector tiles are, or peels remainders off: no masks."""
    return 1 - view.masked


@theme.feature
def partial_peeled(view: CpuView) -> Column:
    """The share of the work in peeled remainders: they run apart, often as scalar code."""
    return partial(view) * peel(view)


@theme.feature
def partial_unpeeled(view: CpuView) -> Column:
    """The share of the work in remainders that are not peeled: masks or dynamic shapes."""
    return partial(view) * (1 - peel(view))
