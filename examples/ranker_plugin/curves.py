"""A ranker of one's own: a curve through each of a few features, added up.

Install the package, train it, and it orders candidates:

    pip install examples/ranker_plugin
    frontrunner train recordings --ranker curves --out curves.predictor
    frontrunner evaluate recordings --rankers heuristic,curves,curves:penalty=100
    frontrunner tune examples/matmul_skinny.mlir --ranker curves.predictor
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from frontrunner.core import InputError
from frontrunner.models import BASE, TIME_COLUMN, Ranker, Reason, Scores, feature_matrix

FEATURES = (
    "vec_m_log2",
    "vec_n_log2",
    "vec_k_log2",
    "vec_waste",
    "partial",
    "register_pressure",
    "loads_per_fma",
    "independent_chains_log2",
    "core_cycles_log2",
    "l1_lines_log2",
    "cache_rhs_l2",
    "critical_path",
)
# A level, and per feature a line and a bend.
_EACH = (len(FEATURES),)
PIECES = {"centre": _EACH, "scale": _EACH, "level": (), "line": _EACH, "bend": _EACH}


class CurvesRanker(Ranker):
    """Predicts a candidate's place by a parabola over each of twelve features."""

    name = "curves"
    needs_fit = True
    # A score is that of its row alone, so that long queues can be scored in pieces.
    row_by_row = True
    limits = Ranker.limits | {"penalty": (1e-6, 1e6)}

    def __init__(self, *, penalty: float = 10.0) -> None:
        """
        Args:
            penalty: on the curves' coefficients; more makes them flatter.
        """
        self.penalty = penalty

    @property
    def is_fitted(self) -> bool:
        return hasattr(self, "level_")

    def fit(self, frame: pd.DataFrame, groups: ArrayLike) -> Self:
        # Times of different problems cannot be compared, places among those of the same one can;
        # failures (NaN) share the last.
        times = frame[TIME_COLUMN].astype(float)
        if times.isna().all():
            raise InputError(f"ranker {self.name!r} has nothing to learn from: no candidate ran")
        target = np.log(times.groupby(np.asarray(groups)).rank(na_option="bottom").to_numpy())
        values = feature_matrix(frame, FEATURES, self.name).astype(float)
        known = ~np.isnan(values)
        count = np.maximum(known.sum(axis=0), 1)
        self.centre_ = np.where(known, values, 0).sum(axis=0) / count
        spread = np.sqrt((np.where(known, values - self.centre_, 0) ** 2).sum(axis=0) / count)
        self.scale_ = np.where(spread > 0, spread, 1.0)
        x = self._standardised(values)
        x = np.hstack([x, x**2 - 1])
        self.level_ = np.float64(target.mean())
        # Ridge regression.
        ridge = x.T @ x + self.penalty * np.eye(x.shape[1])
        self.line_, self.bend_ = np.split(np.linalg.solve(ridge, x.T @ (target - self.level_)), 2)
        return self

    def score(self, frame: pd.DataFrame) -> Scores:
        scores = np.zeros(len(frame))
        # One after the other: `sum` would add in another order where there is a single row.
        for _, added in self.contributions(frame).items():
            scores += added.to_numpy()
        return scores

    def contributions(self, frame: pd.DataFrame, rows: Sequence[int] | None = None) -> pd.DataFrame:
        some = frame if rows is None else frame.iloc[list(rows)]
        x = self._standardised(feature_matrix(some, FEATURES, self.name).astype(float))
        added = self.line_ * x + self.bend_ * (x**2 - 1)
        return pd.DataFrame(added, some.index, list(FEATURES)).assign(**{BASE: self.level_})

    def reasons(self, frame: pd.DataFrame) -> dict[str, Reason]:
        return {n: r for n, r in super().reasons(frame).items() if n in FEATURES}

    def dump(self) -> dict[str, bytes]:
        learned = {name: getattr(self, f"{name}_").tolist() for name in PIECES}
        return {"curves.json": json.dumps(learned).encode()}

    def restore(self, payload: Mapping[str, bytes]) -> Self:
        # Anyone may have made the file: it is read as numbers, and counted.
        try:
            learned = json.loads(payload["curves.json"])
            pieces = {name: np.array(learned[name], dtype=float) for name in PIECES}
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"ranker {self.name!r} cannot be read: {error}") from None
        for name, shape in PIECES.items():
            if pieces[name].shape != shape or not np.isfinite(pieces[name]).all():
                raise InputError(f"ranker {self.name!r} cannot be read: its {name} is wrong")
            setattr(self, f"{name}_", pieces[name])
        return self

    def _standardised(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """In standard deviations from the mean; what is missing counts as the mean."""
        # Far beyond what was learned from, parabolas say anything.
        return np.nan_to_num(np.clip((values - self.centre_) / self.scale_, -3, 3))
