"""What rankers that learn trees share: all but how the trees are grown."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ...core import InputError
from ..ranker import BASE, Ranker, Scores, features
from ..training import Training
from .shapley import shapley_values
from .trees import Trees


class TreeRanker(Ranker):
    """Orders by what trees answer, the largest answer first."""

    needs_fit = True
    row_by_row = True
    spreads_tiles = True

    trees_: Trees

    @abstractmethod
    def grow(self, data: Training) -> Trees:
        """Trees whose answers are larger for faster candidates."""

    @property
    def is_fitted(self) -> bool:
        return hasattr(self, "trees_")

    def fit(self, frame: pd.DataFrame, groups: ArrayLike) -> Self:
        data = Training.of(frame, groups, self.name)
        self.trees_ = self.grow(data)
        self.catalogue_ = data.catalogue
        return self

    def score(self, frame: pd.DataFrame) -> Scores:
        return self.score_values(self._values(frame))

    def score_values(self, values: NDArray[np.float32]) -> Scores:
        """Scores of a matrix, whose columns are the features of `catalogue_`."""
        return -self.trees_.predict(values)

    def contributions(self, frame: pd.DataFrame, rows: Sequence[int] | None = None) -> pd.DataFrame:
        """The exact Shapley values of the features."""
        chosen = frame if rows is None else frame.iloc[list(rows)]
        values = self._values(chosen)
        shares, start = shapley_values(self.trees_, values)
        for feature, share in self.trees_.lines(values):
            shares[:, feature] += share
        found = pd.DataFrame(-shares, columns=pd.Index(self.catalogue_.names), index=chosen.index)
        return found.assign(**{BASE: -start})

    def importances(self) -> pd.Series[float]:
        """Each feature's share in what splits, and a line, gained in training."""
        return pd.Series(self.trees_.importance, pd.Index(self.catalogue_.names), np.float64)

    def dump(self) -> dict[str, bytes]:
        return self.trees_.encode()

    def restore(self, payload: Mapping[str, bytes]) -> Self:
        self.trees_ = Trees.decode(payload, len(self.catalogue_.features))
        return self

    def _values(self, frame: pd.DataFrame) -> NDArray[np.float32]:
        """The features; to be called before what was learned is used, which may not be there."""
        if not self.is_fitted:
            raise InputError(f"ranker {self.name!r} is not trained", "train it, or pass its file")
        return features(frame, self.catalogue_, self.name)
