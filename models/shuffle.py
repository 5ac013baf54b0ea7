"""Random order: the yardstick that every other ranker has to beat."""

from __future__ import annotations

import numpy as np
import pandas as pd

from .ranker import Ranker, Scores


class ShuffleRanker(Ranker):
    """A uniformly random order, whatever the features say."""

    name = "shuffle"

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed

    def score(self, frame: pd.DataFrame) -> Scores:
        permutation = np.random.default_rng(self.seed).permutation(len(frame))
        return permutation.astype(np.float64)
