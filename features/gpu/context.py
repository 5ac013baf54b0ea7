"""What describes the GPU: it lets a learned model tell targets apart."""

from __future__ import annotations

import numpy as np

from ..registry import Theme
from .view import GpuView

theme = Theme("context")


@theme.feature
def target_shared_log2(view: GpuView) -> float:
    """log2 of the shared memory that a workgroup may use: how large its tiles may be."""
    return float(np.log2(view.gpu.shared_bytes))


@theme.feature
def target_subgroup_log2(view: GpuView) -> float:
    """log2 of the threads in a subgroup: how much work each instruction is."""
    return float(np.log2(view.gpu.subgroup_size))


@theme.feature
def target_registers_log2(view: GpuView) -> float:
    """log2 of the register bits that a thread can address: how many sums it may keep."""
    return float(np.log2(view.gpu.register_bits))


@theme.feature
def target_l2_log2(view: GpuView) -> float:
    """log2 of the L2 bytes: how much reuse is left to it."""
    return float(np.log2(max(view.target.cache_bytes[1], 1)))
