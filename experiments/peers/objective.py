"""The candidates that a search asks for, one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..learning import Case

Floats = NDArray[np.float64]

# A search that asks so often in a row for what it knows has ended.
MAX_REPEATS = 500
# How many candidates are asked for between two looks at whether the figures are decided.
LOOK_EVERY = 16


class SearchOver(Exception):
    """No figure depends on what is asked for next."""


class RecordedObjective:
    """Tells times and keeps the order in which they are asked for first.

    Args:
        times: of all candidates; NaN where one fails.
        should_stop: is told the times so far, and says whether it is enough.
        limit: how many candidates may be asked for, if there are so many, and how often again for
            those that are known; all, and without end, if None.

    Attributes:
        rows: the candidates in the order in which they were asked for.
    """

    def __init__(
        self, times: Floats, should_stop: Callable[[Floats], bool], limit: int | None
    ) -> None:
        self.rows: list[int] = []
        self._times = times
        self._should_stop = should_stop
        self._limit = min(len(times), limit or len(times))
        # Optuna's Gaussian process names known candidates for hours: on a synthetic space 422 asks
        # in a minute, the last 400 of them without a new one, and each takes longer than the last.
        self._most_repeats = limit or math.inf
        self._known: set[int] = set()
        self._repeats = self._repeats_in_a_row = 0

    def __call__(self, row: int) -> float:
        """The time of a candidate.

        Raises:
            SearchOver: the search is over.
        """
        if len(self.rows) >= self._limit:
            raise SearchOver
        if row in self._known:
            self._repeats += 1
            self._repeats_in_a_row += 1
            if self._repeats_in_a_row > MAX_REPEATS or self._repeats > self._most_repeats:
                raise SearchOver
        else:
            count = len(self.rows)
            if count % LOOK_EVERY == 0 and count and self._should_stop(self._times[self.rows]):
                raise SearchOver
            self._repeats_in_a_row = 0
            self._known.add(row)
            self.rows.append(row)
        return float(self._times[row])


@dataclass(frozen=True, eq=False)
class Subject:
    """What a search is about.

    Attributes:
        knobs: a row per candidate, a column per knob.
        context: numbers about the problem, the same for all of its candidates.
        donors: recordings of other devices or problems.
        device: the chip.
        seed: of all that is chosen at random.
        ask: tells a candidate's time, NaN if it fails; ends the search where it is enough.
    """

    knobs: pd.DataFrame
    context: dict[str, float]
    donors: Sequence[Case]
    device: str
    seed: int
    ask: Callable[[int], float]


def context_of(case: Case) -> dict[str, float]:
    """The features that do not vary from candidate to candidate: what is computed, and where."""
    fixed = case.features.loc[:, case.features.nunique(dropna=False) == 1]
    return {str(name): float(values.iloc[0]) for name, values in fixed.items()}
