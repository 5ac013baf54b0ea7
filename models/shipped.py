"""The default CPU ranker: a shipped predictor and the heuristic, by their mean log-rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..features import CPU
from .heuristic import HeuristicRanker
from .ranker import BASE, Ranker, Reason, Scores, features
from .storage import load
from .trees import LightGBMRanker

# Made by `make predictor`.
PREDICTOR = Path(__file__).with_name("data") / "cpu.predictor"


class CpuRanker(Ranker):
    """Orders by the mean of two places: a predictor trained on CPU dispatches, and the heuristic.

    The predictor knows the machine that it was trained on; where a problem or a machine is unlike
    that, the heuristic keeps the order sane. Trained, it has a predictor of its own in place of the
    one that comes with the package.
    """

    name = "cpu"
    limits = Ranker.limits | {"trust": (0, 1)}

    learned_: LightGBMRanker

    def __init__(self, *, trust: float = 0.75, seed: int = 0) -> None:
        """
        Args:
            trust: the predictor's share in the mean.
            seed: of the predictor's training.
        """
        self.trust = trust
        self.seed = seed

    def fit(self, frame: pd.DataFrame, groups: ArrayLike) -> Self:
        features(frame, CPU, self.name)  # it could not order other candidates
        self.learned_ = LightGBMRanker(seed=self.seed).fit(frame, groups)
        return self

    def score(self, frame: pd.DataFrame) -> Scores:
        scores: Scores = self.contributions(frame).to_numpy(dtype=np.float64).sum(axis=1)
        return scores

    def contributions(self, frame: pd.DataFrame, rows: Sequence[int] | None = None) -> pd.DataFrame:
        """The logarithms of the two places, each times its share; the base is 0."""
        features(frame, CPU, self.name)  # names missing features for this ranker
        found = pd.DataFrame(
            {
                name: self._trust(name) * _log_ranks(part.score(frame))
                for name, part in self.parts.items()
            },
            index=frame.index,
        ).assign(**{BASE: 0.0})
        return found if rows is None else found.iloc[list(rows)]

    def reasons(self, frame: pd.DataFrame) -> dict[str, Reason]:
        text = "the logarithm of the place among all candidates by the {}, times {:g}"
        return {name: Reason(text.format(name, self._trust(name))) for name in self.parts}

    @property
    def parts(self) -> Mapping[str, Ranker]:
        learned = self.learned_ if hasattr(self, "learned_") else _shipped()
        return {"predictor": learned, "heuristic": HeuristicRanker()}

    def dump(self) -> dict[str, bytes]:
        return self.learned_.dump() if hasattr(self, "learned_") else {}

    def restore(self, payload: Mapping[str, bytes]) -> Self:
        if payload:
            learner = LightGBMRanker(seed=self.seed)
            learner.catalogue_ = self.catalogue_
            self.learned_ = learner.restore(payload)
        return self

    def _trust(self, part: str) -> float:
        return self.trust if part == "predictor" else 1 - self.trust


@cache
def _shipped() -> Ranker:
    return load(PREDICTOR)


def _log_ranks(scores: Scores) -> Scores:
    """Logarithms of places; equal scores share one, so that the order does not matter."""
    return np.log(pd.Series(scores).rank(na_option="bottom").to_numpy(np.float64))
