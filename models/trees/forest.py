"""A random forest (scikit-learn) that predicts which candidates come first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..ranker import MAX_INT32
from ..training import Training
from ..untrusted import MAX_TREES
from .tree_ranker import TreeRanker
from .trees import Trees

# How many trees are grown between two words of how far it is.
AT_A_TIME = 10


class ForestRanker(TreeRanker):
    """Predicts a candidate's place among those of its problem, as the mean of many trees."""

    name = "forest"
    limits = TreeRanker.limits | {
        "trees": (1, MAX_TREES),
        "min_leaf": (1, MAX_INT32),
        "max_features": (1e-6, 1),
        "sample": (1e-6, 1),
        "threads": (1, 1024),
    }

    def __init__(
        self,
        *,
        trees: int = 30,
        min_leaf: int = 3,
        max_features: float = 0.3,
        sample: float = 0.3,
        threads: int = 1,
        seed: int = 0,
    ) -> None:
        """
        Args:
            trees: how many trees are averaged.
            min_leaf: the fewest training rows behind one answer.
            max_features: the share of features tried per split.
            sample: the share of the training rows that each tree is grown from.
            threads: how many threads train; the trees are the same. On a busy machine two wait for
                each other: 23,756 rows took 4.5 and 7.1 s with one, 6.4 and 8.9 s with two.
            seed: fixes the randomness of training.
        """
        self.trees = trees
        self.min_leaf = min_leaf
        self.max_features = max_features
        self.sample = sample
        self.threads = threads
        self.seed = seed

    def grow(self, data: Training) -> Trees:
        from sklearn.ensemble import RandomForestRegressor

        forest = RandomForestRegressor(
            min_samples_leaf=self.min_leaf,
            max_features=float(self.max_features),  # of a whole number it would take so many
            max_samples=max(1, round(self.sample * len(data.features))),
            random_state=self.seed,
            n_jobs=self.threads,
            warm_start=True,
        )
        # Some at a time, which makes the same trees as all at once.
        for done in (*range(AT_A_TIME, self.trees, AT_A_TIME), self.trees):
            forest.set_params(n_estimators=done).fit(data.features, -data.log_rank)
            self.on_progress(done, self.trees)
        return _trees(forest)


def _trees(forest: Any) -> Trees:
    """The mean of a forest's trees as a sum."""
    trees = [one.tree_ for one in forest.estimators_]

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(tree, name) for tree in trees])

    node = np.concatenate([np.arange(tree.node_count) for tree in trees])
    left, right = joined("children_left"), joined("children_right")
    leaf = left < 0
    return Trees.make(
        size=[tree.node_count for tree in trees],
        left=np.where(leaf, 0, left - node),
        right=np.where(leaf, 0, right - node),
        feature=np.where(leaf, 0, joined("feature")),
        threshold=np.where(leaf, 0, joined("threshold")),
        missing=np.where(leaf, 0, joined("missing_go_to_left")),
        value=np.where(leaf, joined("value")[:, 0, 0] / len(trees), 0),
        cover=joined("weighted_n_node_samples"),
        importance=forest.feature_importances_,
    )
