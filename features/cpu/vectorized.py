"""Which loop the compiler vectorizes, as its IR shows (IREE 3.13).

All kinds of ops of `experiments/recordings` were looked at, and convolutions with groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...search import Problem, kind_of
from ..view import Column


def vectorized_loops(
    problem: Problem, tiles: Sequence[Column], contiguous: int
) -> NDArray[np.intp]:
    """By candidate: the position of the loop whose points share a vector.

    If it is a reduction, points of all reductions share one, and are added up within it.

    Args:
        tiles: the vector tile of each loop.
        contiguous: the loop along which the output is contiguous, or -1 for none: it is the one
            that is vectorized, but for reductions, and for products and convolutions whose columns
            or channels are not contiguous.
    """
    loops = np.full(len(tiles[0]), contiguous)
    kind = kind_of(problem)
    if kind.memory_bound:
        # Several points of a reduction are added up within a vector, whatever is contiguous.
        return _last(tiles, [i for i, d in enumerate(problem.dims) if not d.parallel], loops)
    columns = [i for i, d in enumerate(problem.dims) if d.role == "n" and d.size > 1]
    if not columns or contiguous in columns:
        return loops
    rows = [i for i, d in enumerate(problem.dims) if d.role == "m" and d.size > 1]
    if not kind.has_window and problem.op != "linalg.generic":
        return loops  # named ops have their columns innermost
    if not kind.has_window:
        # The compiler makes vectors of columns, whether these are contiguous or not. With one
        # column in the tile, a product by a vector is left: of rows, if these are the inner loops.
        return _last(tiles, columns, np.full_like(loops, max(rows[-1:] + columns[-1:])))
    traits = dict(problem.traits)
    if traits.get("depthwise"):
        return loops
    window = problem.window_loops
    if traits.get("grouped") or len(window) != 2:
        return np.full_like(loops, columns[-1])
    # A tile of several window points is brought into a layout that has channels innermost. With one
    # point, and a stride of 1, it is a product that is vectorized along rows of the image.
    several = math.prod((tiles[i] for i in window), start=np.ones(len(loops))) > 1
    several |= traits.get("stride", 1) > 1
    return np.where(several, columns[-1], _last(tiles, rows, loops))


def _last(
    tiles: Sequence[Column], loops: Sequence[int], otherwise: NDArray[np.intp]
) -> NDArray[np.intp]:
    """By candidate: the last of the loops that has several points in its tile."""
    found = otherwise
    for i in loops:
        found = np.where(tiles[i] > 1, i, found)
    return found
