"""Shapes of tiles: what a thread reuses, and what is unrolled."""

from __future__ import annotations

import numpy as np

from ..registry import Theme
from ..view import Column
from .view import VulkanView

theme = Theme("tiles")
SIDES = ("m", "n")


@theme.each("thread_{}_log2", SIDES)
def thread(view: VulkanView, side: str) -> Column:
    """log2 of a thread's points along {}: each loaded value is used that often."""
    return np.log2(view.points(view.thread, side))


@theme.each("tile_{}_log2", SIDES)
def tile(view: VulkanView, side: str) -> Column:
    """log2 of a workgroup's points along {}: its threads share what they load."""
    return np.log2(view.points(view.wg, side))


@theme.feature
def step_log2(view: VulkanView) -> Column:
    """log2 of reduction points of a step: each step has addresses and branches of its own."""
    return np.log2(view.step)


@theme.feature
def unrolled_log2(view: VulkanView) -> Column:
    """log2 of multiply-adds that a step unrolls to: long code is compiled and cached worse."""
    return np.log2(view.sums * view.step)


@theme.feature
def thread_intensity_log2(view: VulkanView) -> Column:
    """log2 of operations per byte that a thread loads: below the device's ratio, loads limit."""
    return np.log2(2 * view.sums * view.step / view.loads(view.thread))


@theme.feature
def workgroup_intensity_log2(view: VulkanView) -> Column:
    """log2 of operations per byte of a workgroup's tiles: what caches or shared memory deliver."""
    outputs = view.points(view.wg, "batch", "m", "n")
    return np.log2(2 * outputs * view.step / view.loads(view.wg))


@theme.feature
def padding(view: VulkanView) -> Column:
    """Points that tiles cover beyond those there are, relative: computed for nobody."""
    return view.padding - 1


@theme.feature
def vectorized(view: VulkanView) -> Column:
    """1 where a thread computes in vectors, else 0: scalar code uses a fraction of the units."""
    return view["vectorized"]
