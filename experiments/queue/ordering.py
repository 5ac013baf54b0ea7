"""The order of an adaptive ranker over a queue."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Self

import numpy as np
import pandas as pd

from ...benchmarks.measuring import KILLED, Outcome, QueueOrder
from ...models import TIME_COLUMN, AdaptiveRanker, order
from ...search import Dispatch
from .candidates import features_of

# Candidates that are ordered anew after each batch: the queue's head, and as many by lot from
# behind it. It takes 0.3 s; all of 100,000 would take as long as measuring the batch.
HEAD = 4096


class AdaptiveOrder:
    """Takes candidates in the order of an adaptive ranker, which is asked anew after each batch."""

    def __init__(self, ranker: AdaptiveRanker, features: pd.DataFrame, length: int) -> None:
        """
        Args:
            features: of the candidates to choose from, by queue position; knobs for a ranker that
                reads them.
            length: of the queue, whose other candidates come last.
        """
        self.ranker = ranker
        self.features = features
        self.batch = ranker.batch
        self.rest = QueueOrder(length)

    @classmethod
    def for_queue(
        cls, queue: pd.DataFrame, dispatch: Dispatch, ranker: AdaptiveRanker, seed: int
    ) -> Self:
        """The order of a queue's candidates.

        Args:
            queue: as the ranker ordered it before anything was measured.
            seed: of the candidates that are chosen by lot.
        """
        behind = np.arange(HEAD, len(queue))
        lots = np.random.default_rng(seed).permutation(behind)[:HEAD]
        chosen = pd.concat([queue.iloc[:HEAD], queue.iloc[np.sort(lots)]])
        frame = chosen if ranker.reads_knobs else features_of(dispatch, chosen)
        return cls(ranker, frame, len(queue))

    def next(
        self, outcomes: Mapping[int, Outcome], count: int, out: Collection[int] = ()
    ) -> list[int]:
        known = [i for i in outcomes if i in self.features.index]
        left = self.features.drop(index=[*known, *(i for i in out if i in self.features.index)])
        if left.empty:
            return self.rest.next(outcomes, count, out)
        known = [i for i in known if outcomes[i].kind != KILLED]
        # Shares of the baseline measured beside them are free of the machine's drift.
        times = np.array([outcomes[i].relative for i in known], dtype=np.float64)
        self.ranker.observe(self.features.loc[known].assign(**{TIME_COLUMN: times}))
        ranked = left.index[order(self.ranker, left)]
        return [int(i) for i in ranked[:count]]
