"""Searches over what candidates are made of: knobs and their values, not features."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..ranker import AdaptiveRanker, Scores, places
from ..training import TIME_COLUMN

Array = NDArray[np.float64]
Levels = NDArray[np.int64]
Rows = NDArray[np.intp]

_STREAM = 3


@dataclass(frozen=True, eq=False)
class Grid:
    """Candidates as points of a grid.

    Attributes:
        points: a row per candidate, a column per knob that varies: the number of its value among
            the knob's, in rising order where they have one. What is missing is a value, too.
        sizes: how many values each knob has.
    """

    points: Levels
    sizes: Levels

    @classmethod
    def of(cls, candidates: pd.DataFrame) -> Self:
        """The grid of candidates: one row per candidate, one column per knob."""
        knobs = [
            pd.factorize(values, sort=True, use_na_sentinel=False)[0]
            for _, values in candidates.items()
        ]
        points = np.column_stack(knobs).astype(np.int64)
        points = points[:, np.ptp(points, axis=0) > 0]
        return cls(points, points.max(axis=0) + 1)

    def nearest(self, point: Levels, rows: Rows) -> int:
        """The row that differs from a point in the fewest knobs, and there least; else the first.

        Args:
            rows: those to choose from.
        """
        steps = np.abs(self.points[rows] - point)
        apart = (steps > 0).sum(axis=1) + (steps / self.sizes).sum(axis=1) / (len(self.sizes) + 1)
        return int(rows[np.argmin(apart)])


class KnobRanker(AdaptiveRanker):
    """Starts at random, then chooses candidates by the knobs of those that were measured."""

    reads_knobs = True
    seed: int

    _measured: pd.DataFrame | None = None

    def observe(self, measured: pd.DataFrame) -> Self:
        self._measured = measured
        return self

    def score(self, frame: pd.DataFrame) -> Scores:
        measured = self._measured if self._measured is not None else frame.iloc[:0]
        count = len(measured)
        rng = np.random.default_rng([self.seed, _STREAM, count])
        left = count + rng.permutation(len(frame))
        chosen: list[int] = []
        if count:
            grid = Grid.of(pd.concat([measured.drop(columns=TIME_COLUMN), frame]))
            times = measured[TIME_COLUMN].to_numpy(dtype=np.float64)
            chosen = self.suggest(grid, np.where(np.isnan(times), np.inf, times), left, rng)
        return places([row - count for row in chosen], left - count)

    def score_chunks(self, chunks: Iterable[pd.DataFrame], count: int) -> Scores:
        if self._measured is None:  # at random, whatever the candidates are
            return self.score(pd.DataFrame(index=range(count)))
        return super().score_chunks(chunks, count)

    @abstractmethod
    def suggest(
        self, grid: Grid, times: Array, remaining: Rows, rng: np.random.Generator
    ) -> list[int]:
        """Which of the candidates that are left to take next, each once; others follow at random.

        Args:
            grid: of all candidates, those that were measured first, in the order taken.
            times: of these; infinite where a candidate failed.
            remaining: the other rows of the grid, in random order.
        """
