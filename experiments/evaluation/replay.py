"""Searches on recordings, where every outcome is known: by the loop that tuning uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...benchmarks.measuring import (
    CRASHED,
    OK,
    Budget,
    BudgetStopping,
    CandidateOrder,
    MemoryLog,
    Outcome,
    QueueOrder,
    RunProgress,
    search,
)
from ...benchmarks.runners import ReplayRunner
from ...models import TIME_COLUMN, AdaptiveRanker, Ranker
from ..learning import Case
from ..queue import AdaptiveOrder
from .full_queue import FullQueue

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Replay:
    """What a tuning run takes.

    Attributes:
        rows: of the case, in the order in which they are taken.
        skipped: how many candidates that were not measured stand before each in the queue; NaN
            where that is not known, as of a ranker that looks back.
    """

    rows: NDArray[np.intp]
    skipped: Floats


def replay(
    ranker: Ranker, case: Case, should_stop: Callable[[Floats], bool] = lambda taken: False
) -> Replay:
    """Takes the candidates of a case as a tuning run does.

    Candidates that were killed from outside are not among them: a case has none.

    Args:
        should_stop: is told the times taken so far, NaN for failures, and says whether a ranker
            that looks back may stop there; the order of any other is always complete.
    """
    count, frame = len(case.times), case.features
    if isinstance(ranker, AdaptiveRanker):
        frame = case.knobs if ranker.reads_knobs else frame
        # Has it forget what it saw of another case.
        ranker.observe(frame.iloc[:0].assign(**{TIME_COLUMN: case.times[:0]}))
    # The queue is what the ranker says before anything is measured, as in a tuning run.
    full = FullQueue.of(ranker, case)
    queue, outcomes = full.rows, _outcomes(case)
    known = {place: outcomes[row] for place, row in enumerate(queue)}
    taken = MemoryLog()
    chosen: CandidateOrder = QueueOrder(count)
    limits = BudgetStopping(Budget(), count)
    if isinstance(ranker, AdaptiveRanker):
        features = frame.iloc[queue].reset_index(drop=True)
        chosen = AdaptiveOrder(ranker, features, count)
        limits = _StopWhenDecided(case.times[queue], taken.outcomes, ranker.batch, should_stop)
    search(ReplayRunner(known, {}, batch=count), chosen, taken, limits)
    places = list(taken.outcomes)
    return Replay(queue[places], full.skipped[places])


class _StopWhenDecided(BudgetStopping):
    """Stops where a figure cannot change any more, which is asked after each batch."""

    def __init__(
        self,
        times: Floats,
        taken: Mapping[int, Outcome],
        batch: int,
        should_stop: Callable[[Floats], bool],
    ) -> None:
        super().__init__(Budget(), len(times))
        self._times = times
        self._taken = taken
        self._batch = batch
        self._should_stop = should_stop
        self._answers: dict[int, bool] = {}

    def stop_reason(self, progress: RunProgress) -> str | None:
        count = progress.taken
        if count % self._batch == 0 and count not in self._answers:
            self._answers[count] = self._should_stop(self._times[list(self._taken)])
        return "it is enough" if self._answers.get(count) else super().stop_reason(progress)


@lru_cache(maxsize=64)
def _outcomes(case: Case) -> list[Outcome]:
    """What becomes of each row of a case, in units of the default's time where that is known."""
    unit = float(np.nan_to_num(case.baseline_us, nan=1.0))
    return [
        Outcome(CRASHED, stage="run") if np.isnan(t) else Outcome(OK, float(t), unit)
        for t in case.times
    ]
