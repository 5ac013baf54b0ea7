"""What is lost where a tile does not divide what it tiles."""

from __future__ import annotations

import numpy as np

from ..registry import Theme
from ..view import Column
from .view import CpuView

theme = Theme("quantization")


@theme.each("dist_waste_{}", ("batch", "m", "n"))
def dist_waste_role(view: CpuView, role: str) -> Column:
    """Padding of {} to whole workgroup tiles, relative: the last workgroup has less to do."""
    return _waste(view, "dist", role)


@theme.feature
def dist_waste(view: CpuView) -> Column:
    """Padding of all dims to whole workgroup tiles, relative: uneven workgroups."""
    return _waste(view, "dist")


@theme.each("cache_waste_{}", ("m", "n", "k"))
def cache_waste_role(view: CpuView, role: str) -> Column:
    """Padding of the enclosing {} to whole cache tiles, relative: a ragged last cache tile."""
    return _waste(view, "cache", role)


@theme.feature
def cache_waste(view: CpuView) -> Column:
    """Padding to whole cache tiles over all dims, relative: ragged cache tiles."""
    return _waste(view, "cache")


@theme.each("vec_waste_{}", ("m", "n", "k"))
def vec_waste_role(view: CpuView, role: str) -> Column:
    """Padding of the enclosing {} to whole vector tiles, relative: masked or scalar remainders."""
    return _waste(view, "vec", role)


@theme.feature
def vec_waste(view: CpuView) -> Column:
    """Padding to whole vector tiles over all dims, relative: ragged vector loops."""
    return _waste(view, "vec")


@theme.each("partial_{}", ("m", "n", "k"))
def partial_role(view: CpuView, role: str) -> Column:
    """The share of {} outside full vector tiles, through all levels: it runs on slow code."""
    return _partial(view, role)


@theme.feature
def partial(view: CpuView) -> Column:
    """The share of all work outside full vector tiles, through all levels: it runs on slow code."""
    return _partial(view)


@theme.feature
def partial_inner(view: CpuView) -> Column:
    """The share of the vectors' own dim outside full vector tiles: whole vectors are lost."""
    loop = view.vector_loop
    if loop is None:
        return view.constant(0)
    return 1 - view.vec_counts[loop][1] / view.sizes[loop]


@theme.feature
def peel(view: CpuView) -> Column:
    """1 where no loop leaves a remainder, or remainders are peeled: the main loop is clean."""
    # How often a loop of unknown size runs is only known for the largest size.
    clean = (view.ragged_loops == 0) & (not view.problem.dynamic)
    value = view.knob("peel")
    return np.asarray(clean if value is None else clean | (value > 0), dtype=np.float64)


@theme.feature
def partial_peeled(view: CpuView) -> Column:
    """The share of the work in peeled remainders: they run apart, often as scalar code."""
    return partial(view) * peel(view)


@theme.feature
def partial_unpeeled(view: CpuView) -> Column:
    """The share of the work in remainders that are not peeled: masks or dynamic shapes."""
    return partial(view) * (1 - peel(view))


@theme.feature
def ragged_loops(view: CpuView) -> Column:
    """How many loops leave a remainder of the vector tile: code variants multiply with each."""
    return view.ragged_loops


def _waste(view: CpuView, level: str, role: str | None = None) -> Column:
    ratio = view.constant(1)
    for value, dim in zip(view.padding[level], view.dims, strict=True):
        if role is None or dim.role == role:
            ratio = ratio * value
    return ratio - 1


def _partial(view: CpuView, role: str | None = None) -> Column:
    share = view.constant(1)
    for (_, full), dim in zip(view.vec_counts, view.dims, strict=True):
        if role is None or dim.role == role:
            share = share * full / dim.size
    return 1 - share
