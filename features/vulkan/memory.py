"""How threads load: vectors, neighbours in memory, shared memory."""

from __future__ import annotations

import numpy as np

from ..registry import Theme
from ..view import SLOTS, Column
from .view import VulkanView

theme = Theme("memory")


@theme.each("vector_{}", SLOTS)
def vector(view: VulkanView, slot: str) -> Column:
    """The share of the widest access that a thread's run of the {} fills: narrow ones are more."""
    operand = view.slots[slot][0]
    run = view.inner_tile(slot, view.thread) * operand.bytes_per_element
    return np.minimum(run * 8 / view.gpu.load_bits, 1) * view["vectorized"]


@theme.each("run_{}_log2", SLOTS)
def run(view: VulkanView, slot: str) -> Column:
    """log2 of bytes of the {} that follow each other in a workgroup's tile: whole cache lines."""
    operand = view.slots[slot][0]
    return np.log2(view.inner_tile(slot, view.wg) * operand.bytes_per_element)


@theme.feature
def coalesced(view: VulkanView) -> Column:
    """Neighbouring threads along the output's contiguous loop, of a subgroup: one transaction."""
    along = view.inner_tile("out", view.wg) / view.inner_tile("out", view.thread)
    return np.minimum(along / view.gpu.subgroup_size, 1)


@theme.feature
def traffic_log2(view: VulkanView) -> Column:
    """log2 of how often workgroups load what the inputs hold: each loads its own tiles."""
    steps = view.problem.points / (view.points(view.wg, "batch", "m", "n") * view.step)
    held = view.bytes_of("lhs") + view.bytes_of("rhs")
    return np.log2(np.maximum(steps * view.loads(view.wg) / held, 1))


@theme.feature
def shared_share(view: VulkanView) -> Column:
    """Shared memory that a workgroup takes, of what it may: it keeps other workgroups out."""
    return view["shared_bytes"] / view.gpu.shared_bytes


@theme.feature
def promoted(view: VulkanView) -> Column:
    """1 where operands go through shared memory, else 0: threads share loads, and wait for them."""
    return view["promoted"]


@theme.feature
def uneven_copies(view: VulkanView) -> Column:
    """Operands whose copies threads cannot share out in full loads: threads wait for others."""
    found = view.constant(0)
    for slot in ("lhs", "rhs"):
        operand = view.slots[slot][0]
        loads = view.bytes_in(operand, view.wg) * 8 / view.gpu.load_bits
        found = found + (loads % view["threads"] != 0)
    return found * view["promoted"]


@theme.feature
def depth(view: VulkanView) -> Column:
    """Copies that are in flight: they hide latency and take shared memory."""
    return view["depth"]


@theme.feature
def stage(view: VulkanView) -> Column:
    """The stage of a pipelined loop that stores to shared memory: late ones hide more latency."""
    return view["stage"]
