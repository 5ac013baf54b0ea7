"""What describes the CPU: it lets a learned model tell targets apart."""

from __future__ import annotations

import numpy as np

from ..registry import Theme
from .view import CpuView

theme = Theme("context")


@theme.feature
def target_vector_log2(view: CpuView) -> float:
    """log2 of the target's vector bytes: the width that vector tiles should fill."""
    return float(np.log2(view.vector_bytes))


@theme.feature
def target_registers_log2(view: CpuView) -> float:
    """log2 of the target's vector registers: how large a register tile may be."""
    return float(np.log2(max(view.target.registers, 1)))


@theme.feature
def target_l2_log2(view: CpuView) -> float:
    """log2 of the target's L2 bytes: how large a working set stays near."""
    return float(np.log2(view.cache_bytes[1]))
