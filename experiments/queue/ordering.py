"""The order of an adaptive ranker over a queue."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...benchmarks.measuring import KILLED, Outcome, QueueOrder
from ...models import TIME_COLUMN, AdaptiveRanker, order
from ...search import Dispatch
from .candidates import features_of

# Candidates that are ordered anew after each batch: the queue's head, and as many at random from
# behind it. It takes 0.2 s; all of 100,000 would take as long as measuring the batch.
HEAD = 4096
# The time that is imputed to candidates in flight. With 1, 4 and 16 devices `adaptive` took 22.6,
# 24.4 and 26.0 candidates on 23 recordings of Emerald and Sapphire Rapids where they are taken for
# the worst so far; with nothing imputed, 26.3 and 27.0 with 4 and 16. On Zen 4, with 4 devices, it
# took 25.3 and 23.5 (`studies.in_flight`). A ranker that chooses the same again where nothing new
# is known, as a plug-in may, needs one.
NO_VALUE, USUAL_VALUE = "nothing", "worst"
PENDING_VALUES: Mapping[str, Callable[[NDArray[np.float64]], float]] = {
    "best": np.nanmin,
    "median": np.nanmedian,
    "worst": np.nanmax,
}


class AdaptiveOrder:
    """Takes candidates in the order of an adaptive ranker, which is asked anew after each batch."""

    def __init__(
        self,
        ranker: AdaptiveRanker,
        features: pd.DataFrame,
        length: int,
        pending: str = USUAL_VALUE,
    ) -> None:
        """
        Args:
            features: of the candidates to choose from, by queue position; knobs for a ranker that
                reads them.
            length: of the queue, whose other candidates come last.
            pending: the time that is imputed to candidates in flight: the `best`, `median` or
                `worst` so far (a constant liar), or `nothing`.
        """
        self.ranker = ranker
        self.pending = pending
        self.features = ranker.prepare(features)
        self.batch = ranker.batch
        self.rest = QueueOrder(length)

    @classmethod
    def for_queue(
        cls, queue: pd.DataFrame, dispatch: Dispatch, ranker: AdaptiveRanker, seed: int
    ) -> Self:
        """The order of a queue's candidates.

        Args:
            queue: as the ranker ordered it before anything was measured.
            seed: of the candidates that are chosen at random.
        """
        behind = np.arange(HEAD, len(queue))
        shuffled = np.random.default_rng(seed).permutation(behind)[:HEAD]
        chosen = pd.concat([queue.iloc[:HEAD], queue.iloc[np.sort(shuffled)]])
        frame = chosen if ranker.reads_knobs else features_of(dispatch, chosen)
        return cls(ranker, frame, len(queue))

    def next(
        self, outcomes: Mapping[int, Outcome], count: int, in_flight: Collection[int] = ()
    ) -> list[int]:
        known = [i for i in outcomes if i in self.features.index]
        believed = [i for i in in_flight if i in self.features.index]
        left = self.features.drop(index=known)
        if len(left) == len(believed):
            return self.rest.next(outcomes, count, in_flight)
        known = [i for i in known if outcomes[i].kind != KILLED]
        # Shares of the baseline measured beside them are free of the machine's drift.
        times = np.array([outcomes[i].relative for i in known], dtype=np.float64)
        if self.pending != NO_VALUE and np.isfinite(times).any():
            known += believed
            times = np.append(times, np.full(len(believed), PENDING_VALUES[self.pending](times)))
            left = left.drop(index=believed)
        self.ranker.observe(self.features.loc[known].assign(**{TIME_COLUMN: times}))
        ranked = left.index[order(self.ranker, left)]
        return [int(i) for i in ranked if i not in in_flight][:count]
