"""What loops do to operands, and tiles to extents."""

from __future__ import annotations

import numpy as np

from ...search import Operand, Problem, kind_of
from ..view import Column


def depends_on(operand: Operand, loop: int) -> bool:
    """Whether a loop walks over elements of an operand."""
    return any(one == loop for terms in operand.index for one, _ in terms)


def inner_loops(problem: Problem, operand: Operand) -> list[int]:
    """The loops that walk contiguous elements, parallel ones first: of windows, there are two.

    They have stride 1 in the last dim of a tensor that has more than one element.
    """
    for terms in reversed(operand.index):
        walked = [(loop, stride) for loop, stride in terms if problem.dims[loop].size > 1]
        if walked:
            unit = [loop for loop, stride in walked if stride == 1]
            return sorted(unit, key=lambda loop: not problem.dims[loop].parallel)
    return []


def window_loops(problem: Problem) -> tuple[int, ...]:
    """The loops of a convolution's window; other kinds have none."""
    has = kind_of(problem).has_window
    return tuple(i for i, d in enumerate(problem.dims) if has and d.name in ("fd", "fh", "fw"))


def split(extent: Column, tiles: list[Column]) -> tuple[Column, Column]:
    """Splits an extent by nested tiles: how many innermost tiles, and points in full ones."""
    tile = tiles[0]
    whole = np.floor(extent / tile)
    rest = extent - whole * tile
    if len(tiles) == 1:
        return whole + (rest > 0), whole * tile
    count, full = split(tile, tiles[1:])
    rest_count, rest_full = split(rest, tiles[1:])
    return whole * count + rest_count, whole * full + rest_full
