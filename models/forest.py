"""A random forest (scikit-learn) that predicts how fast a candidate is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.ensemble import RandomForestRegressor

from ..search.errors import InputError
from . import untrusted
from .ranker import Ranker, Scores, features
from .training import Training

_PIECE = "forest.skops"


class ForestRanker(Ranker):
    """Predicts speed relative to the best of the problem, as the mean of many trees."""

    name = "forest"
    needs_fit = True

    forest_: RandomForestRegressor

    def __init__(
        self, *, trees: int = 100, min_leaf: int = 5, max_features: float = 0.3, seed: int = 0
    ) -> None:
        """
        Args:
            trees: how many trees are averaged. A random forest, as extremely randomised trees took
                11 candidates to the first near-optimal one where this took 6.4 (synthetic machine).
            min_leaf: the fewest training rows behind one answer.
            max_features: the share of features tried per split.
            seed: fixes the randomness of training.
        """
        self.trees = trees
        self.min_leaf = min_leaf
        self.max_features = max_features
        self.seed = seed

    @property
    def is_fitted(self) -> bool:
        return hasattr(self, "forest_")

    def fit(self, frame: pd.DataFrame, groups: ArrayLike) -> Self:
        data = Training.of(frame, groups, self.name)
        forest = RandomForestRegressor(
            n_estimators=self.trees,
            min_samples_leaf=self.min_leaf,
            max_features=self.max_features,
            random_state=self.seed,
            n_jobs=-1,
        )
        forest.fit(data.features, data.speed)
        self.catalogue_ = data.catalogue
        self.forest_ = self._ready(forest)
        return self

    def score(self, frame: pd.DataFrame) -> Scores:
        if not self.is_fitted:
            raise InputError(f"ranker {self.name!r} is not trained", "train it, or pass its file")
        values = features(frame, self.catalogue_, self.name)
        if not len(values):
            return np.empty(0)
        return -np.asarray(self.forest_.predict(values), dtype=np.float64)

    def dump(self) -> dict[str, bytes]:
        import skops.io

        return {_PIECE: skops.io.dumps(self.forest_)}

    def restore(self, payload: Mapping[str, bytes]) -> Self:
        count = len(self.catalogue_.features)
        forest = untrusted.load_forest(payload.get(_PIECE, b""), RandomForestRegressor, count)
        self.forest_ = self._ready(forest)
        return self

    def _ready(self, forest: Any) -> Any:
        # Threads add up the trees in any order, which changes the last bit and with it ties.
        return forest.set_params(n_jobs=1)
