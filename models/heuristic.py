"""A hand-written order for CPUs, for when nothing was learned yet."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from ..search.errors import InputError
from .ranker import Ranker, Scores, listing, matrix
from .terms import TERMS


class HeuristicRanker(Ranker):
    """Orders by a weighted sum of penalties, each with a reason: see `models/terms.py`."""

    name = "heuristic"

    def __init__(self, *, weights: Mapping[str, float] | None = None) -> None:
        """
        Args:
            weights: other weights than the terms' own, by the terms' names.
        """
        self.weights = weights

    def score(self, frame: pd.DataFrame) -> Scores:
        scores: Scores = self.explain(frame).to_numpy(dtype=np.float64).sum(axis=1)
        return scores

    def explain(self, frame: pd.DataFrame) -> pd.DataFrame:
        """What each term adds to the score, one column per term, one row per candidate."""
        weights = self._weights()
        names = list(dict.fromkeys(name for term in TERMS for name in term.features))
        values = matrix(frame, names, self.name).astype(np.float64)
        columns = {name: values[:, i] for i, name in enumerate(names)}
        return pd.DataFrame(
            {
                term.name: weights[term.name] * term.penalty(*(columns[f] for f in term.features))
                for term in TERMS
            },
            index=frame.index,
        )

    def _weights(self) -> dict[str, float]:
        known = {term.name: term.weight for term in TERMS}
        given = dict(self.weights or {})
        if unknown := sorted(set(given) - set(known)):
            raise InputError(
                f"heuristic has no term {unknown[0]!r}; it has {listing(list(known), len(known))}"
            )
        return known | given
