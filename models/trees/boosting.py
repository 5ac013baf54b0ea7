"""Gradient-boosted trees (LightGBM) that learn which candidates come first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...core import InputError
from ..ranker import MAX_INT32
from ..training import Training
from ..untrusted import MAX_TREES
from .tree_ranker import TreeRanker
from .trees import Trees

if TYPE_CHECKING:
    from lightgbm.callback import CallbackEnv

_OBJECTIVES = ("lambdarank", "regression")
_COLUMNS = ("left", "right", "feature", "threshold", "missing", "value", "cover")

# What the cost model of CPUs says of the time. Trees that learn what it leaves took 4.2 candidates
# with a machine left out, and 6.9 with a family of problems; all by themselves 4.6 and 7.7 (three
# seeds, 141 recordings).
_COST = "cycles_log2"

# From so many rows the thresholds of features are taken. With all 69,000 of the recordings of CPUs,
# that takes a second, and not 0.6, and orders are no better.
_BINNED_ROWS = 20_000

# Relevance is 0 for failures and goes from 1 to this for others; each level doubles what a
# candidate is worth, so that a near-winner is worth more than many slow ones.
_LEVELS = 15


class LightGBMRanker(TreeRanker):
    """Orders the candidates of a problem by gradient-boosted trees."""

    name = "lightgbm"
    limits = TreeRanker.limits | {
        "rounds": (1, MAX_TREES),
        "learning_rate": (1e-6, 1),
        "leaves": (2, 131_072),  # as LightGBM says
        "min_leaf": (1, MAX_INT32),
        "feature_share": (1e-6, 1),
        "row_share": (1e-6, 1),
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
        row_share: float = 1.0,
        cost_model: bool = True,
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
            row_share: the share of rows that each tree is grown from.
            cost_model: whether trees learn what a multiple of `cycles_log2` leaves, the answer of
                the cost model, where candidates have it (those for CPUs), by `regression`.
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
        self.row_share = row_share
        self.cost_model = cost_model
        self.threads = threads
        self.seed = seed

    def grow(self, data: Training) -> Trees:
        import lightgbm

        if self.objective not in _OBJECTIVES:
            raise InputError(
                f"objective of ranker {self.name!r} must be one of {', '.join(_OBJECTIVES)}, "
                f"got {self.objective!r}"
            )
        rows, sizes = data.group_rows()
        ranking = self.objective == "lambdarank"
        linear = _Line(0, 0.0, 0.0, np.zeros(len(data.features)))
        names = list(data.catalogue.names)
        if self.cost_model and not ranking and _COST in names:
            linear = _fit_line(data, names.index(_COST))
        places = -data.log_rank - linear.share
        dataset = lightgbm.Dataset(
            data.features[rows],
            label=_relevance(data.speed[rows]) if ranking else places[rows],
            group=sizes if ranking else None,
            params={
                "feature_pre_filter": False,
                "bin_construct_sample_cnt": _BINNED_ROWS,
                "verbose": -1,
            },
        )
        booster = lightgbm.train(
            self._settings(len(rows)), dataset, num_boost_round=self.rounds, callbacks=[self._tell]
        )
        gains = booster.feature_importance("gain")
        gains[linear.feature] += linear.share @ linear.share
        slopes, centers = np.zeros((2, len(names)))
        slopes[linear.feature], centers[linear.feature] = linear.slope, linear.center
        return _trees(
            booster.dump_model(), gains / (gains.sum() or 1), slopes=slopes, centers=centers
        )

    def _tell(self, state: CallbackEnv) -> None:
        self.on_progress(state.iteration + 1, state.end_iteration)

    def _settings(self, rows: int) -> dict[str, Any]:
        settings: dict[str, Any] = {
            "objective": self.objective,
            "learning_rate": self.learning_rate,
            "num_leaves": self.leaves,
            "min_data_in_leaf": self.min_leaf,
            "feature_fraction": self.feature_share,
            # LightGBM fails where that is less than a row.
            "bagging_fraction": self.row_share if self.row_share * rows >= 1 else 1.0,
            "bagging_freq": 1,
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


@dataclass(frozen=True, eq=False)
class _Line:
    """What one feature explains.

    Attributes:
        share: by row, its difference from the mean of its group.
    """

    feature: int
    slope: float
    center: float
    share: NDArray[np.float64]


def _fit_line(data: Training, feature: int) -> _Line:
    """Fits places in groups by a cost: it falls, or there is none."""
    cost = data.features[:, feature].astype(np.float64)
    known = np.isfinite(cost)
    center = float(np.float32(cost[known].mean())) if known.any() else 0.0
    x, y = (
        values - (np.bincount(data.groups, values) / np.bincount(data.groups))[data.groups]
        for values in (np.where(known, cost, center), -data.log_rank)
    )
    # A few candidates that cost nearly the same tell nothing: one octave weighs against that.
    slope = min(float(np.float32(x @ y / (x @ x + 1))), 0.0)
    return _Line(feature, slope, center, slope * x)


def _trees(
    model: Mapping[str, Any], importance: NDArray[np.float64], **linear: NDArray[np.float64]
) -> Trees:
    """Trees of what LightGBM's `dump_model` says."""
    trees = [_tree(tree["tree_structure"], tree["num_leaves"]) for tree in model["tree_info"]]
    columns = {name: np.concatenate([tree[name] for tree in trees]) for name in trees[0]}
    size = [len(t["left"]) for t in trees]
    return Trees.make(size=size, importance=importance, **linear, **columns)


def _tree(root: Mapping[str, Any], leaves: int) -> dict[str, NDArray[np.float64]]:
    """The nodes of a tree: the inner ones in LightGBM's order, then the leaves in theirs."""
    inner = leaves - 1
    columns = {name: np.zeros(inner + leaves) for name in _COLUMNS}
    columns["cover"] += 1  # of a tree that is one leaf, nothing is told

    def place(node: Mapping[str, Any]) -> int:
        return int(node["split_index"]) if "split_index" in node else inner + _leaf(node)

    nodes = [root]
    while nodes:
        node = nodes.pop()
        at = place(node)
        if "split_index" not in node:
            told = {"value": node["leaf_value"], "cover": node.get("leaf_count", 1)}
        else:
            left, right = node["left_child"], node["right_child"]
            nodes += [left, right]
            # Where training saw a missing value, it goes to one side; else it counts as 0.
            nan = node["missing_type"] == "NaN"
            told = {
                "left": place(left) - at,
                "right": place(right) - at,
                "feature": node["split_feature"],
                "threshold": node["threshold"],
                "missing": node["default_left"] if nan else node["threshold"] >= 0,
                "cover": node["internal_count"],
            }
        for name, value in told.items():
            columns[name][at] = value
    return columns


def _leaf(node: Mapping[str, Any]) -> int:
    return int(node.get("leaf_index", 0))
