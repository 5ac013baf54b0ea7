"""How threads fill subgroups, workgroups and the device."""

from __future__ import annotations

import numpy as np

from ..registry import Theme
from ..view import Column
from .view import VulkanView

theme = Theme("threads")


@theme.feature
def threads_log2(view: VulkanView) -> Column:
    """log2 of a workgroup's threads: few hide no latency, many wait at barriers."""
    return np.log2(view["threads"])


@theme.feature
def idle_lanes(view: VulkanView) -> Column:
    """The share of lanes that no thread of the workgroup has: lost in each instruction."""
    size = view.gpu.subgroup_size
    lanes = np.ceil(view["threads"] / size) * size
    filled: Column = view["threads"] / lanes
    return 1 - filled


@theme.feature
def thread_share(view: VulkanView) -> Column:
    """A workgroup's threads, of those that it may have: large ones leave no room for others."""
    return view["threads"] / view.gpu.max_threads


@theme.feature
def workgroups_log2(view: VulkanView) -> Column:
    """log2 of the number of workgroups: many balance well, each has a prologue."""
    return np.log2(view.workgroups)


@theme.feature
def idle_units(view: VulkanView) -> Column:
    """The share of compute units without any workgroup: lost for good."""
    return np.maximum(1 - view.workgroups / view.cores, 0)


@theme.feature
def wave_waste(view: VulkanView) -> Column:
    """Rounding of workgroups up to whole waves over compute units, relative: quantization."""
    return np.ceil(view.workgroups / view.cores) * view.cores / view.workgroups - 1


@theme.feature
def register_share(view: VulkanView) -> Column:
    """A thread's sums and operands over the registers that it has: beyond 1 they are spilled."""
    return view.registers / view.gpu.register_bits
