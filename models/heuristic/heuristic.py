"""A hand-written order, for when nothing was learned yet."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...core import InputError
from ...features import CPU, GPU, VULKAN, detect_catalogue
from ..ranker import BASE, Ranker, Reason, Scores, feature_matrix, is_number, join_names
from .cpu_terms import CPU_TERMS, PenaltyTerm
from .gpu_terms import GPU_TERMS
from .vulkan_terms import VULKAN_TERMS

_TERMS = {CPU.name: CPU_TERMS, GPU.name: GPU_TERMS, VULKAN.name: VULKAN_TERMS}


class HeuristicRanker(Ranker):
    """Orders by a weighted sum of penalties, each with a reason.

    The terms for CPUs are in `cpu_terms.py`, those for GPUs in `gpu_terms.py`, those for Vulkan in
    `vulkan_terms.py`; which ones apply is seen from the features.
    """

    name = "heuristic"
    row_by_row = True
    spreads_tiles = True

    def __init__(self, *, weights: Mapping[str, float] | None = None) -> None:
        """
        Args:
            weights: other weights than the terms' own, by the terms' names.
        """
        self.weights = weights

    @classmethod
    def check_params(cls, params: Mapping[str, Any]) -> None:
        weights = params.get("weights") or {}
        if not (isinstance(weights, Mapping) and all(map(is_number, weights.values()))):
            raise InputError(
                f"weights of ranker {cls.name!r} have to be numbers by the names of its terms, "
                f"got {reprlib.repr(weights)}"
            )

    def score(self, frame: pd.DataFrame) -> Scores:
        scores = np.zeros(len(frame))
        # One after the other: `sum` would add in another order where there is a single row.
        for _, added in self.explain(frame).items():
            scores += added.to_numpy(dtype=np.float64)
        return scores

    def contributions(self, frame: pd.DataFrame, rows: Sequence[int] | None = None) -> pd.DataFrame:
        """What each term adds; the base is 0."""
        return self.explain(frame if rows is None else frame.iloc[list(rows)]).assign(**{BASE: 0.0})

    def reasons(self, frame: pd.DataFrame) -> dict[str, Reason]:
        return {term.name: Reason(term.reason, term.features) for term in _terms(frame)}

    def explain(self, frame: pd.DataFrame) -> pd.DataFrame:
        """What each term adds to the score, one column per term, one row per candidate."""
        terms = _terms(frame)
        weights = self._weights(terms)
        names = list(dict.fromkeys(name for term in terms for name in term.features))
        values = feature_matrix(frame, names, self.name).astype(np.float64)
        columns = {name: values[:, i] for i, name in enumerate(names)}
        return pd.DataFrame(
            {
                term.name: weights[term.name] * term.penalty(*(columns[f] for f in term.features))
                for term in terms
            },
            index=frame.index,
        )

    def _weights(self, terms: Sequence[PenaltyTerm]) -> dict[str, float]:
        known = {term.name: term.weight for term in terms}
        given = dict(self.weights or {})
        if unknown := sorted(set(given) - set(known)):
            names = join_names(list(known), len(known))
            raise InputError(f"heuristic has no term {unknown[0]!r}; it has {names}")
        return known | given


def _terms(frame: pd.DataFrame) -> Sequence[PenaltyTerm]:
    found = detect_catalogue(frame.columns) or CPU
    if found.name not in _TERMS:
        raise InputError(
            f"ranker {HeuristicRanker.name!r} knows nothing of {found.subject}",
            "train a ranker on them, or use the ranker 'shuffle'",
        )
    return _TERMS[found.name]
