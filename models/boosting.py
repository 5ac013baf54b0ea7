"""Gradient-boosted trees (LightGBM) that learn which of two candidates comes first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import lightgbm
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ..search.errors import InputError
from . import untrusted
from .ranker import Ranker, Scores, features
from .training import Training

_PIECE = "lightgbm.txt"
_OBJECTIVES = ("lambdarank", "regression")

# Relevance is 0 for failures and goes from 1 to this for others; each level doubles what a
# candidate is worth, so that a near-winner is worth more than many slow ones.
_LEVELS = 15


class LightGBMRanker(Ranker):
    """Learns an order per problem, or the speed relative to the problem's best candidate."""

    name = "lightgbm"
    needs_fit = True

    booster_: lightgbm.Booster

    def __init__(
        self,
        *,
        objective: str = "regression",
        rounds: int = 300,
        learning_rate: float = 0.05,
        leaves: int = 31,
        min_leaf: int = 10,
        feature_share: float = 0.5,
        threads: int = 1,
        seed: int = 0,
    ) -> None:
        """
        Args:
            objective: `lambdarank` learns from pairs, `regression` predicts relative speed. On a
                synthetic machine, leaving one of nine problems out, regression took 5.7 candidates
                (geometric mean) to the first near-optimal one, lambdarank 7.3, shuffle 86.
            rounds: how many trees are added up.
            learning_rate: how much each tree counts.
            leaves: the most leaves of a tree.
            min_leaf: the fewest training rows behind one leaf.
            feature_share: the share of features that each tree may use.
            threads: how many threads train and predict. On a busy machine two wait for each other:
                20,000 rows took 3.8 s with one and 14 s with two.
            seed: fixes the randomness of training.
        """
        self.objective = objective
        self.rounds = rounds
        self.learning_rate = learning_rate
        self.leaves = leaves
        self.min_leaf = min_leaf
        self.feature_share = feature_share
        self.threads = threads
        self.seed = seed

    @property
    def is_fitted(self) -> bool:
        return hasattr(self, "booster_")

    def fit(self, frame: pd.DataFrame, groups: ArrayLike) -> Self:
        if self.objective not in _OBJECTIVES:
            raise InputError(
                f"objective of ranker {self.name!r} must be one of {', '.join(_OBJECTIVES)}, "
                f"got {self.objective!r}"
            )
        data = Training.of(frame, groups, self.name)
        rows, sizes = data.ranked()
        speed = data.speed[rows]
        ranking = self.objective == "lambdarank"
        dataset = lightgbm.Dataset(
            data.features[rows],
            label=_relevance(speed) if ranking else speed,
            group=sizes if ranking else None,
            feature_name=list(data.catalogue.names),
            params={"feature_pre_filter": False, "verbose": -1},
        )
        self.catalogue_ = data.catalogue
        booster = lightgbm.train(self._settings(), dataset, num_boost_round=self.rounds)
        # Trees read back from their text differ in no prediction, but everything else is gone:
        # what is saved is what is used.
        return self.restore({_PIECE: untrusted.strip_lightgbm(booster.model_to_string())})

    def score(self, frame: pd.DataFrame) -> Scores:
        if not self.is_fitted:
            raise InputError(f"ranker {self.name!r} is not trained", "train it, or pass its file")
        values = features(frame, self.catalogue_, self.name)
        if not len(values):
            return np.empty(0)
        return -np.asarray(self.booster_.predict(values, num_threads=self.threads))

    def dump(self) -> dict[str, bytes]:
        return {_PIECE: untrusted.strip_lightgbm(self.booster_.model_to_string())}

    def restore(self, payload: Mapping[str, bytes]) -> Self:
        self.booster_ = untrusted.load_lightgbm(payload.get(_PIECE, b""), self.catalogue_.names)
        return self

    def _settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = {
            "objective": self.objective,
            "learning_rate": self.learning_rate,
            "num_leaves": self.leaves,
            "min_data_in_leaf": self.min_leaf,
            "feature_fraction": self.feature_share,
            "num_threads": self.threads,
            "seed": self.seed,
            "deterministic": True,
            "force_row_wise": True,
            "verbose": -1,
        }
        if self.objective == "lambdarank":
            settings["lambdarank_truncation_level"] = 30
        return settings


def _relevance(speed: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(speed > 0, 1 + np.round(speed * (_LEVELS - 1)), 0.0)
