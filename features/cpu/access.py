"""How operands lie in memory under a tile: contiguous runs, cache lines, pages, cache sets."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from ...search import Operand
from ..registry import Theme
from ..view import SLOTS, Column
from .view import CpuView

# Lines are 64 bytes on x86 and most Arm cores, and pages 4 KiB. Rows whose distance is a power of
# two of at least a page fall into the same few sets of an L1 cache.
LINE = 64
PAGE = 4096

theme = Theme("access")


@theme.each("run_vec_{}", SLOTS)
def run_vec(view: CpuView, slot: str) -> Column:
    """log2 of the bytes that a vector tile reads of the {} in one run: long runs stream."""
    return np.log2(_least(view, slot, "vec"))


@theme.each("run_cache_{}", SLOTS)
def run_cache(view: CpuView, slot: str) -> Column:
    """log2 of the bytes that a cache tile reads of the {} in one run: prefetchers need length."""
    return np.log2(_least(view, slot, "cache"))


@theme.feature
def pages_rhs(view: CpuView) -> Column:
    """log2 of the pages that a panel of the rhs touches: many rows far apart exhaust the TLB."""
    total = view.constant(0)
    for operand in view.slots["rhs"]:
        rows = _rows(view, operand, "panel")
        reach = np.maximum(_run(view, operand, "panel"), min(_stride(view, operand), PAGE))
        total = total + np.maximum(rows * reach / PAGE, 1)
    return np.log2(np.maximum(total, 1))


@theme.feature
def conflicts_rhs(view: CpuView) -> Column:
    """log2 of the rhs rows in a panel, where a large power of two apart: they evict each other."""
    worst = view.constant(1)
    for operand in view.slots["rhs"]:
        stride = _stride(view, operand)
        if stride >= PAGE and stride & (stride - 1) == 0:
            worst = np.maximum(worst, _rows(view, operand, "panel"))
    return np.log2(worst)


def _least(view: CpuView, slot: str, level: str) -> Column:
    """The shortest run among the slot's operands."""
    runs = [_run(view, operand, level) for operand in view.slots[slot]]
    return reduce(np.minimum, runs) if runs else view.constant(LINE)


def _run(view: CpuView, operand: Operand, level: str) -> Column:
    """Bytes until the tile leaves a gap: rows that are read whole join with the next ones."""
    run = view.constant(operand.bytes_per_element)
    whole = np.full(len(run), True)
    pairs = list(zip(view.extents[level, operand], view.shapes[operand], strict=True))
    for extent, full in reversed(pairs):
        run = np.where(whole, run * extent, run)
        whole &= extent >= full
    return run


def _rows(view: CpuView, operand: Operand, level: str) -> Column:
    """How many separate runs the tile has."""
    elements = math.prod(view.extents[level, operand], start=view.constant(1))
    return elements * operand.bytes_per_element / _run(view, operand, level)


def _stride(view: CpuView, operand: Operand) -> int:
    """Bytes between neighbouring rows."""
    row = next((size for size in reversed(view.shapes[operand]) if size > 1), 1)
    return row * operand.bytes_per_element
