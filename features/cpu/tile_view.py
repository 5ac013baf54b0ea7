"""A TileView: the candidates of a CPU space as nested tiles, each computed once.

Tiles come in nested levels. Every level has a tile for every loop:

| level | parallel loops | reductions |
| --- | --- | --- |
| `dist` | what one workgroup computes | the whole loop |
| `cache` | the cache tile | the cache tile |
| `panel` | the vector tile | the cache tile |
| `vec` | the vector tile | the vector tile |
| `step` | the vector tile | 1 |

`panel` is what the innermost reduction loop streams through while the accumulators stay in
registers, and `step` is what one of its (unrolled) multiply-adds needs at the same moment.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from ...search import Dim
from ..view import Column, View
from .loops import split

LEVELS = ("dist", "cache", "panel", "vec", "step")


@dataclass(frozen=True, eq=False)
class TileView(View):
    """Candidates of one CPU problem; a missing (or zero) tile is as large as the enclosing one."""

    def _tile(self, level: str, dim: Dim, enclosing: Column) -> Column:
        tile = self.knob(f"{level}_{dim.name}")
        if tile is None:
            return enclosing
        return np.where(tile < 1, enclosing, np.minimum(tile, enclosing))

    @cached_property
    def tiles(self) -> dict[str, tuple[Column, ...]]:
        """By level: the tile of every loop, in the problem's order of loops."""
        rows: list[tuple[Column, ...]] = []
        one = self.constant(1)
        for dim in self.problem.dims:
            dist = self.constant(dim.size)
            if dim.parallel:
                dist = self._tile("dist", dim, dist)
            cache = self._tile("cache", dim, dist)
            vec = self._tile("vec", dim, cache)
            panel, step = (vec, vec) if dim.parallel else (cache, one)
            rows.append((dist, cache, panel, vec, step))
        return {level: tuple(r[i] for r in rows) for i, level in enumerate(LEVELS)}

    @cached_property
    def volume(self) -> dict[str, Column]:
        """By level: how many points of the iteration space the tile holds."""
        return {level: self._product(self.tiles[level]) for level in LEVELS}

    @cached_property
    def vec_counts(self) -> tuple[tuple[Column, Column], ...]:
        """By loop: how many vector tiles, and how many of its points lie in full ones.

        Exact: a remainder of the workgroup tile has its own remainder of the vector tile.
        """
        counts = []
        for i, dim in enumerate(self.problem.dims):
            nest = [self.tiles["cache"][i], self.tiles["vec"][i]]
            if self.knob(f"cache_{dim.name}") is None:
                nest = nest[1:]
            if dim.parallel:
                nest.insert(0, self.tiles["dist"][i])
            counts.append(split(self.constant(dim.size), nest))
        return tuple(counts)

    @cached_property
    def ragged_loops(self) -> Column:
        """How many loops leave a remainder of the vector tile."""
        counted = zip(self.vec_counts, self.sizes, strict=True)
        ragged = ((full < size).astype(np.float64) for (_, full), size in counted)
        return sum(ragged, self.constant(0))

    @cached_property
    def unknown_sizes(self) -> Column:
        """How many sizes of the vector tile vary while it runs, or may for all the compiler knows.

        It does not see that remainders of workgroups, and of cache tiles of reductions, are whole
        vector tiles. Of cache tiles of other loops it does (IR of products, with and without).
        """
        unknown = self.constant(0)
        for i, dim in enumerate(self.problem.dims):
            outermost = self.tiles["dist" if dim.parallel else "cache"][i]
            full = self.vec_counts[i][1]
            odd = (dim.size % outermost > 0) | (full < dim.size) | dim.dynamic
            unknown = unknown + ((self.tiles["vec"][i] > 1) & odd)
        return unknown

    @cached_property
    def masked(self) -> Column:
        """1 where vectors are masked, else 0: sizes are not known, and remainders not peeled."""
        peel = self.knob("peel")
        peeled = self.whole_window if peel is None else peel > 0
        return np.asarray((self.unknown_sizes > 0) & ~peeled, dtype=np.float64)

    @cached_property
    def whole_window(self) -> NDArray[np.bool_]:
        """Whether all of a convolution's window is unrolled in the vector tile."""
        tiles = self.tiles["vec"]
        window = self.problem.window_loops
        points = self._product(tiles[i] for i in window)
        whole = math.prod(self.sizes[i] for i in window)
        return np.asarray((points == whole) & bool(window))

    @cached_property
    def workgroups(self) -> Column:
        return self._product(
            np.ceil(d.size / t)
            for t, d in zip(self.tiles["dist"], self.problem.dims, strict=True)
            if d.parallel
        )

    @cached_property
    def vec_tiles(self) -> Column:
        """How many vector tiles the whole problem takes."""
        return self._product(count for count, _ in self.vec_counts)

    @cached_property
    def padding(self) -> dict[str, Column]:
        """By level: the enclosing extents rounded up to whole tiles, over these extents."""
        sizes = tuple(self.constant(s) for s in self.sizes)
        nest = (("dist", sizes), ("cache", self.tiles["dist"]), ("vec", self.tiles["cache"]))
        return {
            level: self._product(
                np.ceil(o / t) * t / o for o, t in zip(outer, self.tiles[level], strict=True)
            )
            for level, outer in nest
        }

    # Helpers ------------------------------------------------------------------------------------

    def _product(self, columns: Iterable[Column]) -> Column:
        factors = list(columns)
        return reduce(np.multiply, factors) if factors else self.constant(1)

    def _extent(self, tiles: Sequence[Column], terms: tuple[tuple[int, int], ...]) -> Column:
        if len(terms) == 1 and terms[0][1] == 1:  # as of most dims
            return tiles[terms[0][0]]
        result = self.constant(1)
        for loop, stride in terms:
            result = result + stride * (tiles[loop] - 1)
        return result
