"""What candidates cost on a simple model of a core: arithmetic, loads, shuffles, cache lines."""

from __future__ import annotations

import numpy as np

from ..registry import Theme
from ..view import Column
from .access import LINE
from .cost_view import FAR_CYCLES, L2_CYCLES, MULTIPLY_ADDS, CostView
from .parallel import critical_path

theme = Theme("cost")


@theme.feature
def executed_ops_log2(view: CostView) -> Column:
    """log2 of executed vector operations over those needed: empty lanes, padding, halvings."""
    return np.log2(view.vec_tiles * sum(view.executed_ops.values()) / view.least_ops)


@theme.feature
def shuffles_per_op(view: CostView) -> Column:
    """Shuffles per operation: transposes, masks, odd vectors. They have but one port."""
    shuffles = sum(view.shuffles.values(), view.constant(0))
    return shuffles / sum(view.executed_ops.values())


@theme.feature
def core_cycles_log2(view: CostView) -> Column:
    """log2 of the cores' cycles over the multiply-adds' own: what limits beside arithmetic."""
    cycles = view.vec_tiles * view.core_cycles
    return np.log2(cycles / (view.least_ops / MULTIPLY_ADDS))


@theme.feature
def l1_lines_log2(view: CostView) -> Column:
    """log2 of the cache lines that come into L1 over those that there are: traffic from L2."""
    return np.log2(np.maximum(view.fetched_lines[0], 1) / _least_lines(view))


@theme.feature
def l2_lines_log2(view: CostView) -> Column:
    """log2 of the cache lines that come into L2 over those that there are: traffic from beyond."""
    return np.log2(np.maximum(view.fetched_lines[1], 1) / _least_lines(view))


@theme.feature
def cycles_log2(view: CostView) -> Column:
    """log2 of all cycles over the least, on the busiest core: what the model says of the time."""
    l1, l2 = view.fetched_lines
    cycles = view.vec_tiles * view.core_cycles + L2_CYCLES * l1 + FAR_CYCLES * l2
    least = max(view.least_ops / MULTIPLY_ADDS, FAR_CYCLES * _least_lines(view))
    return np.log2(cycles / least) + critical_path(view)


def _least_lines(view: CostView) -> float:
    return max(view.problem.bytes_touched / LINE, 1)
