"""What loops do to operands, and tiles to extents."""

from __future__ import annotations

import numpy as np

from ...search import Operand, Problem
from ..view import Column


def depends_on(operand: Operand, loop: int) -> bool:
    """Whether a loop walks over elements of an operand."""
    return any(one == loop for terms in operand.index for one, _ in terms)


def inner_loops(problem: Problem, operand: Operand) -> list[int]:
    """The loops that walk contiguous elements, parallel ones first: of windows, there are two.

    They have stride 1 in the last dim of a tensor that has more than one element.
    """
    unit = [loop for loop, stride in problem.innermost(operand) if stride == 1]
    return sorted(unit, key=lambda loop: not problem.dims[loop].parallel)


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
