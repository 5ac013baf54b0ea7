"""Which loop the compiler vectorizes, as the IR of all recorded dispatches shows (IREE 3.13)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...search import Problem, can_interchange, kind_of
from ..view import Column


def vectorized_loops(
    problem: Problem, tiles: Sequence[Column], contiguous: int
) -> NDArray[np.intp]:
    """By candidate: the position of the loop whose points share a vector.

    Args:
        tiles: the vector tile of each loop.
        contiguous: the loop along which the output is contiguous, or what stands for none: it is
            the one that is vectorized, but for products and convolutions that have channels first.
    """
    loops = np.full(len(tiles[0]), contiguous)
    columns = [i for i, d in enumerate(problem.dims) if d.role == "n" and d.size > 1]
    if not columns or columns[-1] == contiguous:
        return loops
    traits = dict(problem.traits)
    if can_interchange(problem):
        # The compiler expects the lhs's loops first. Of others it makes vectors of columns, whether
        # these are contiguous or not; with one column in the tile, a product by a vector is left.
        by_columns = tiles[columns[-1]] > 1
    elif kind_of(problem).has_window and not traits.get("depthwise"):
        # A tile of several window points is brought into a layout that has channels innermost. With
        # one point it is a product, which is vectorized as it stands.
        window = [i for i, d in enumerate(problem.dims) if d.name.startswith("f")]
        points = math.prod((tiles[i] for i in window), start=np.ones(len(loops)))
        by_columns = (points > 1) | (bool(traits.get("grouped")) or len(window) != 2)
    else:
        return loops
    return np.where(by_columns, columns[-1], loops)
