"""The order that comes with the package: learned on CPUs, steadied by the hand-written one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from ..features import CPU
from .heuristic import HeuristicRanker
from .ranker import Ranker, Scores, features
from .storage import load

# Made by `python -m frontrunner.experiments.ship`.
PREDICTOR = Path(__file__).with_name("data") / "cpu.predictor"


class CpuRanker(Ranker):
    """Orders by the mean of two ranks: a predictor trained on CPU dispatches, and the heuristic.

    The predictor knows the machine that it was trained on; where a problem or a machine is unlike
    that, the heuristic keeps the order sane.
    """

    name = "cpu"

    def __init__(self, *, trust: float = 0.75) -> None:
        """
        Args:
            trust: the predictor's share in the mean.
        """
        self.trust = trust

    def score(self, frame: pd.DataFrame) -> Scores:
        features(frame, CPU, self.name)  # names missing features for this ranker
        learned = _ranks(load(PREDICTOR).score(frame))
        written = _ranks(HeuristicRanker().score(frame))
        mixed: Scores = self.trust * learned + (1 - self.trust) * written
        return mixed


def _ranks(scores: Scores) -> Scores:
    """Ranks from 0 to 1; equal scores share one, so that the order does not matter."""
    ranks = pd.Series(scores).rank(method="average", na_option="bottom").to_numpy(np.float64)
    return ranks / max(1, len(ranks))
