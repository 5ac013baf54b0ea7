"""What each feature contributes to the answers of trees: exact Shapley values.

As Lundberg et al. define them for trees (10.1038/s42256-019-0138-9): where a feature is left out, a
node's answer is the mean of its children's, weighted by the training rows that they got.

What a leaf gives depends on its path alone. Of the features tested there, let the row follow `i`
(`o_i` is 1) or not (0), and a share `z_i` of the training rows. A leaf with value `v` gives `i`

    v (o_i - z_i) times the integral, for t from 0 to 1, of the product over j other than i of
    z_j + t (o_j - z_j)

for the integral of t^a (1 - t)^b is the Shapley weight of a features joining before `i`, and b
after it. The integrand is a polynomial in t, which Gauss-Legendre quadrature integrates exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .trees import Trees

Array = NDArray[np.float64]
Index = NDArray[np.int64]


def shapley_values(trees: Trees, values: NDArray[np.float32]) -> tuple[Array, float]:
    """What features add to the answers of trees.

    Returns:
        A row per row of `values` and a column per feature; and what all answers start from, their
        mean over the training rows.
    """
    found = np.zeros((len(values), len(trees.importance)))
    start = 0.0
    ends = np.cumsum(trees.size, dtype=np.int64)
    for first, end in zip(ends - trees.size, ends, strict=True):
        nodes = slice(first, end)
        cover = trees.cover[nodes].astype(np.float64)
        start += float((trees.value[nodes] * cover).sum() / cover[0])
        if len(cover) == 1:
            continue
        feature = trees.feature[nodes].astype(np.int64)
        paths = _Paths.of(trees.left[nodes], trees.right[nodes], feature, cover, trees.value[nodes])
        tested = values[:, feature]
        left = np.where(
            np.isnan(tested), trees.missing[nodes] != 0, tested <= trees.threshold[nodes]
        )
        for row, goes_left in zip(found, left, strict=True):
            row += np.bincount(paths.feature, paths.shares(goes_left), minlength=len(row))
    return found, start


@dataclass(frozen=True, eq=False)
class _Paths:
    """The paths from a tree's root to its leaves.

    A path's steps are sorted by the feature tested; steps with the same feature make one link.

    Attributes:
        step: for each step, the node that it starts from.
        turn: whether it goes left.
        link: the first step of each link.
        feature: that each link tests.
        cover: the share of the training rows at a link's steps that took them.
        path: the first link of each path.
        length: how many links it has.
        value: that of its leaf.
    """

    step: Index
    turn: NDArray[np.bool_]
    link: Index
    feature: Index
    cover: Array
    path: Index
    length: Index
    value: Array

    @classmethod
    def of(
        cls,
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        feature: Index,
        cover: Array,
        value: NDArray[np.float32],
    ) -> _Paths:
        """The paths of a tree with more than a root, as `Trees` describes its nodes."""
        inner, leaves = np.flatnonzero(left), np.flatnonzero(left == 0)
        parent = np.full(len(left), -1)
        parent[inner + left[inner]] = parent[inner + right[inner]] = inner
        is_left = np.zeros(len(left), dtype=bool)
        is_left[inner + left[inner]] = True
        # From all leaves at once, one step up at a time.
        steps = []
        leaf, node = np.arange(len(leaves)), leaves
        while len(node):
            up = parent[node]
            steps.append(np.stack([leaf, up, node])[:, up >= 0])
            leaf, node = leaf[up >= 0], up[up >= 0]
        leaf, up, down = np.concatenate(steps, axis=1)
        order = np.lexsort((feature[up], leaf))
        leaf, up, down = leaf[order], up[order], down[order]

        first_of_path = np.diff(leaf, prepend=-1) != 0
        link = np.flatnonzero(first_of_path | (np.diff(feature[up], prepend=-1) != 0))
        path = np.flatnonzero(first_of_path[link])
        return cls(
            step=up,
            turn=is_left[down],
            link=link,
            feature=feature[up[link]],
            cover=np.multiply.reduceat(cover[down] / cover[up], link),
            path=path,
            length=np.diff(path, append=len(link)),
            value=value[leaves].astype(np.float64),
        )

    def shares(self, goes_left: NDArray[np.bool_]) -> Array:
        """What each link adds to the answer for a row.

        Args:
            goes_left: by node, where the row goes.
        """
        follows = np.logical_and.reduceat(goes_left[self.step] == self.turn, self.link)
        gain = follows - self.cover
        points, weights = np.polynomial.legendre.leggauss(int(self.length.max()) // 2 + 1)
        factors = self.cover[:, None] + (points + 1) / 2 * gain[:, None]
        products = np.multiply.reduceat(factors, self.path, axis=0)
        others = np.repeat(products, self.length, axis=0) / factors
        found: Array = np.repeat(self.value, self.length) * gain * (others @ (weights / 2))
        return found
