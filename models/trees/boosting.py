"""Gradient-boosted trees (LightGBM) that learn which candidates come first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import InputError
from ..ranker import MOST
from ..training import Training
from ..untrusted import MAX_TREES
from .tree_ranker import TreeRanker
from .trees import Trees

_OBJECTIVES = ("lambdarank", "regression")

# Relevance is 0 for failures and goes from 1 to this for others; each level doubles what a
# candidate is worth, so that a near-winner is worth more than many slow ones.
_LEVELS = 15


class LightGBMRanker(TreeRanker):
    """Predicts a candidate's place among those of its problem."""

    name = "lightgbm"
    limits = TreeRanker.limits | {
        "rounds": (1, MAX_TREES),
        "learning_rate": (1e-6, 1),
        "leaves": (2, 131_072),  # as LightGBM says
        "min_leaf": (1, MOST),
        "feature_share": (1e-6, 1),
        "threads": (1, 1024),
    }

    def __init__(
        self,
        *,
        objective: str = "regression",
        rounds: int = 150,
        learning_rate: float = 0.1,
        leaves: int = 15,
        min_leaf: int = 10,
        feature_share: float = 0.6,
        threads: int = 1,
        seed: int = 0,
    ) -> None:
        """
        Args:
            objective: `regression` predicts the logarithm of the place, `lambdarank` learns from
                pairs. On 29 CPU dispatches, leaving a sixth of them out in turn, both took 3.6
                candidates (geometric mean) to the first near-optimal one, `lambdarank` with three
                times the training; the relative speed as a target took 4.0, shuffle 139.
            rounds: how many trees are added up.
            learning_rate: how much each tree counts.
            leaves: the most leaves of a tree.
            min_leaf: the fewest training rows behind one leaf.
            feature_share: the share of features that each tree may use.
            threads: how many threads train. On a busy machine two wait for each other:
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

    def grow(self, data: Training) -> Trees:
        import lightgbm

        if self.objective not in _OBJECTIVES:
            raise InputError(
                f"objective of ranker {self.name!r} must be one of {', '.join(_OBJECTIVES)}, "
                f"got {self.objective!r}"
            )
        rows, sizes = data.ranked()
        ranking = self.objective == "lambdarank"
        dataset = lightgbm.Dataset(
            data.features[rows],
            label=_relevance(data.speed[rows]) if ranking else -data.place[rows],
            group=sizes if ranking else None,
            params={"feature_pre_filter": False, "verbose": -1},
        )
        booster = lightgbm.train(self._settings(), dataset, num_boost_round=self.rounds)
        gains = booster.feature_importance("gain")
        return _trees(booster.model_to_string(), gains / (gains.sum() or 1))

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


def _trees(text: str, importance: NDArray[np.float64]) -> Trees:
    """Trees from LightGBM's text format."""
    blocks = text[: text.index("end of trees")].split("\nTree=")[1:]
    trees = [_tree(dict(line.split("=") for line in b.split("\n") if "=" in line)) for b in blocks]
    columns = {name: np.concatenate([tree[name] for tree in trees]) for name in trees[0]}
    return Trees.make(size=[len(t["left"]) for t in trees], importance=importance, **columns)


def _tree(fields: dict[str, str]) -> dict[str, NDArray[np.float64]]:
    """The nodes of a tree: the inner ones in LightGBM's order, then the leaves in theirs."""

    def column(name: str) -> NDArray[np.float64]:
        return np.array(fields.get(name, "").split(), dtype=np.float64)

    answers = column("leaf_value")
    inner, leaf = len(answers) - 1, np.zeros(len(answers))
    # LightGBM numbers leaves -1, -2, ...
    left, right = (
        np.where(child < 0, inner - 1 - child, child) - np.arange(inner)
        for child in (column("left_child"), column("right_child"))
    )
    threshold = column("threshold")
    how = column("decision_type").astype(np.int64)
    # Where training saw a missing value, bit 1 says where it goes; else it counts as 0.
    missing = np.where(how >> 2 == 2, how & 2, threshold >= 0)
    return {
        "left": np.append(left, leaf),
        "right": np.append(right, leaf),
        "feature": np.append(column("split_feature"), leaf),
        "threshold": np.append(threshold, leaf),
        "missing": np.append(missing, leaf),
        "value": np.append(np.zeros(inner), answers),
        "cover": np.append(column("internal_count"), column("leaf_count") if inner else 1),
    }
