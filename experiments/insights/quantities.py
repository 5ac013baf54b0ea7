"""What a configuration comes to, in numbers that compiler engineers speak of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...features import CpuView
from ...search import Problem, Target

Column = NDArray[np.float64]


@dataclass(frozen=True)
class Quantity:
    """A number about a configuration.

    Attributes:
        name: for columns and `--json`.
        words: for sentences, after "the default's".
        of: its value for each candidate.
    """

    name: str
    words: str
    of: Callable[[CpuView], Column]


def _tile(level: str, *roles: str) -> Callable[[CpuView], Column]:
    """Points of a tile along loops that have one of these roles in the problem."""

    def points(view: CpuView) -> Column:
        dims = zip(view.tiles[level], view.problem.dims, strict=True)
        return math.prod((t for t, d in dims if d.role in roles), start=view.constant(1))

    return points


def _registers(view: CpuView) -> Column:
    """Vector registers that the accumulators of a vector tile take."""
    (out,) = view.slots["out"]
    points = _tile("vec", "batch", "m", "n")(view)
    return points * out.bytes_per_element / view.vector_bytes


_CPU = (
    Quantity("workgroup_tile", "workgroup tile", _tile("dist", "batch", "m", "n")),
    Quantity("workgroup_rows", "workgroup rows", _tile("dist", "m")),
    Quantity("workgroup_columns", "workgroup columns", _tile("dist", "n")),
    Quantity("cache_tile", "cache tile of the output", _tile("cache", "batch", "m", "n")),
    Quantity("cache_reduction", "cache tile of the reduction", _tile("cache", "k")),
    Quantity("vector_rows", "vector rows", _tile("vec", "m")),
    Quantity("vector_columns", "vector columns", _tile("vec", "n")),
    Quantity("vector_reduction", "vector reduction", _tile("vec", "k")),
    Quantity("accumulators", "accumulators, in registers", _registers),
)
# Columns that GPU spaces derive from their knobs, whatever the pipeline.
_GPU = {
    "tile_m": "workgroup rows",
    "tile_n": "workgroup columns",
    "tile_k": "step of the reduction",
    "subgroups_m": "subgroups along the rows",
    "subgroups_n": "subgroups along the columns",
    "threads": "threads of a workgroup",
    "shared_bytes": "shared memory",
    "stages": "stages of prefetching",
}


def words() -> dict[str, str]:
    """What each quantity is called in sentences."""
    return {quantity.name: quantity.words for quantity in _CPU} | _GPU


def values(problem: Problem, target: Target, rows: pd.DataFrame) -> Mapping[str, Column]:
    """The quantities of candidates, by name.

    Args:
        rows: a column for each knob, and for each derived column on GPUs.
    """
    if target.gpu is not None:
        return {name: rows[name].to_numpy(np.float64) for name in _GPU if name in rows}
    view = CpuView(problem, target, rows)
    return {quantity.name: quantity.of(view) for quantity in _CPU}
