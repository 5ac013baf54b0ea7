"""Random order: the yardstick that every other ranker has to beat."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from .ranker import Ranker, Scores

_STREAM = 1


class ShuffleRanker(Ranker):
    """A uniformly random order, whatever the features say."""

    name = "shuffle"

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed

    def score(self, frame: pd.DataFrame) -> Scores:
        return self.score_chunks((), len(frame))

    def score_chunks(self, chunks: Iterable[pd.DataFrame], count: int) -> Scores:
        # Not the seed alone: samples are permuted by the same one, and this would undo that.
        rng = np.random.default_rng([self.seed, _STREAM])
        return rng.permutation(count).astype(np.float64)
