"""A TrafficView: the cache lines that the candidates of a CPU space fetch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...search import Operand
from ..view import Column
from .access import LINE
from .loops import depends_on
from .view import CpuView


@dataclass(frozen=True, eq=False)
class TrafficView(CpuView):
    """Candidates of one CPU problem, and which data their loops bring into caches."""

    @cached_property
    def fetched_lines(self) -> tuple[Column, Column]:
        """Cache lines that the whole problem brings into L1, and into L2.

        The loops are walked from the innermost one out. As long as the data of one iteration of a
        loop fits into a cache, each line is fetched once. Where not even that fits, each iteration
        fetches again all that the loops within it do.
        """
        operands = [o for some in self.slots.values() for o in some]
        tiles = list(self.tiles["vec"])
        lines = {o: self._lines(o, tiles) for o in operands}
        held = self._total(lines.values())
        capacities = [size / LINE for size in self.cache_bytes[:2]]
        fetched = [dict(lines) for _ in capacities]
        for loop, extent in self._outwards():
            trips = np.ceil(extent / tiles[loop])
            if trips.max(initial=1) <= 1:
                continue
            tiles[loop] = extent
            before, held_before = lines, held
            walked = {o: self._lines(o, tiles) for o in operands if depends_on(o, loop)}
            lines = before | walked
            held = self._total(lines.values())
            # Operands that do not depend on the loop stay where its last iteration left them.
            grown = {o: lines[o] / before[o] if o in walked else 1.0 for o in operands}
            for capacity, found in zip(capacities, fetched, strict=True):
                fits, fitted = held <= capacity, held_before <= capacity
                for o in operands:
                    again = found[o] * np.where(fitted, grown[o], trips)
                    found[o] = np.where(fits, lines[o], again)
        # Each workgroup begins with caches that hold nothing of it, and smaller ones fetch a part.
        # If they kept what earlier ones left, orders of unknown kinds of ops were worse: with a
        # family of problems left out, 7.6 candidates for 6.9 (three seeds).
        full = self.problem.points / self.volume["dist"]
        l1, l2 = (full * self._total(found.values()) for found in fetched)
        return l1, l2

    @cached_property
    def inner_loops_first(self) -> list[int]:
        """The loops of one level: reductions are in the others, and later ones in earlier ones."""
        loops = range(len(self.problem.dims))[::-1]
        return sorted(loops, key=lambda i: self.problem.dims[i].parallel)

    # Helpers ------------------------------------------------------------------------------------

    def _outwards(self) -> Iterable[tuple[int, Column]]:
        """The loops around a vector tile from the innermost one out, each with its extent."""
        for level in ("cache", "dist"):
            for loop in self.inner_loops_first:
                yield loop, self.tiles[level][loop]

    def _touched(
        self, tiles: Sequence[Column], terms: tuple[tuple[int, int], ...]
    ) -> tuple[Column, Column]:
        """How far a dim of a tensor is touched, and how many of the elements on the way are."""
        extent = self._extent(tiles, terms)
        points = self._product(tiles[loop] for loop, _ in terms)
        return extent, extent if extent is points else np.minimum(extent, points)

    def _lines(self, operand: Operand, tiles: list[Column]) -> Column:
        """How many cache lines the elements of an operand under tiles lie in."""
        run, rows = self.constant(operand.bytes_per_element), self.constant(1)
        whole = np.full(len(run), True)
        dims = list(zip(operand.index, self.shapes[operand], strict=True))
        for terms, full in reversed([dim for dim in dims if dim[1] > 1]):
            extent, touched = self._touched(tiles, terms)
            run = run * np.where(whole, extent, 1)
            rows = rows * np.where(whole, 1, touched)
            whole &= touched >= full
        return rows * np.ceil(run / LINE)

    def _total(self, columns: Iterable[Column]) -> Column:
        return sum(columns, self.constant(0))
