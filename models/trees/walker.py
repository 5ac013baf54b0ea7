"""Walking trees with NumPy alone: many rows through many trees at once.

Milliseconds of one core from the file of a predictor to the first order of 4096 candidates, in a
process that has imported pandas, and for the next order. One predictor has 150 trees of 15 leaves,
as each of the three of the package, the other has 30 trees of 1300:

                                             150 trees      30 trees
                                           first   next   first   next
    here                                      45     14      58     13
    scikit-learn (by a private interface)    860     10     860     12
    LightGBM (a `Booster` made of text)      870     15     930     17

What the others spend at first is their import, with which every run of `tune` would begin. From
512 candidates on small trees are left to `selector`, which takes less than half of that.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .selector import FEWEST_ROWS, MOST_LEAVES, MOST_ROWS, MOST_SPLITS, Index, Selector, Values

if TYPE_CHECKING:
    from .trees import Trees

# The first levels of all trees are compared everywhere, whether a row comes there or not: that
# costs less than to look up where each row is. 150 trees of 15 leaves took 11 ms for 4096 rows,
# and with 1 or 5 such levels 16 and 14 ms.
TOP = 3
# So many rows go through so many trees at once that these are their paths: with half as many it
# took 3 ms longer, as each step of Python serves fewer; with twice as many 3 ms as well, as memory
# is then asked of the system and given back at each step.
PATHS, ROWS = 32_768, 1024
# So many levels are walked between two looks at which paths have ended.
STRIDE = 2


class Walker:
    """The answers of trees, in the form in which they are found fast.

    A node's turn is 1 where a row goes left, else 0. Each step gathers, for every path that has not
    ended, a threshold and a value, compares them and gathers the child.
    """

    def __init__(self, trees: Trees) -> None:
        self._trees = trees
        node = np.arange(len(trees.left))
        # By twice the node, plus the turn; a leaf leads to itself.
        self._child = (node[:, None] + np.stack([trees.right, trees.left], axis=1)).ravel()
        self._inner = trees.left != 0
        few = int(self._inner.sum()) <= MOST_SPLITS
        self._may_select = few and trees.size.max(initial=0) < 2 * MOST_LEAVES
        self._threshold = trees.threshold
        self._value = trees.value.astype(np.float64)
        # A missing value is less than all others where it goes left. Where it goes right it stays
        # missing, which is not up to any threshold. So a feature has two columns, if both occur.
        column = 2 * trees.feature.astype(np.int64) + (trees.missing != 0)
        occurs = np.zeros(2 * len(trees.importance), dtype=bool)
        occurs[column] = True
        self._feature, self._goes_left = np.divmod(np.flatnonzero(occurs), 2)
        self._column = (np.cumsum(occurs) - 1)[column]
        self._set_top(np.cumsum(trees.size, dtype=np.int64) - trees.size)

    def _set_top(self, roots: Index) -> None:
        """Lays out the first levels as if no path ended there, one level after the other."""
        levels = [roots[:, None]]
        for _ in range(TOP):
            children = self._child.reshape(-1, 2)[levels[-1]]
            levels.append(children.reshape(len(roots), -1))
        self._top = np.concatenate(levels[:TOP], axis=1).T
        self._below = levels[TOP]

    def predict(self, values: Values) -> NDArray[np.float64]:
        """One answer per row, which does not depend on the others, nor on how many there are."""
        found = np.zeros(len(values))
        selects = len(values) >= FEWEST_ROWS and self._may_select
        at_once = MOST_ROWS if selects else ROWS
        for start in range(0, len(values), at_once):
            columns = self._columns(values[start : start + at_once])
            of_trees = self._selector.answers(columns) if selects else self._walked(columns)
            # One after the other: NumPy would add in another order where there is a single row.
            for answers in of_trees:
                found[start : start + at_once] += answers
        return found

    @cached_property
    def _selector(self) -> Selector:
        return Selector(self._trees, self._column)

    def _columns(self, values: Values) -> Values:
        """What is compared with thresholds, a row per column and a column per row."""
        columns = values.T[self._feature]
        lowest = np.isnan(columns) & (self._goes_left != 0)[:, None]
        np.copyto(columns, -np.inf, where=lowest)
        return columns

    def _walked(self, columns: Values) -> Iterator[NDArray[np.float64]]:
        """One array per two trees: the sum of what they answer each row."""
        at_once = 2 * max(1, PATHS // (2 * columns.shape[1]))
        for first in range(0, len(self._below), at_once):
            answers = self._value.take(self._leaves(columns, slice(first, first + at_once)))
            yield from np.add.reduceat(answers, np.arange(0, len(answers), 2))

    def _leaves(self, columns: Values, trees: slice) -> Index:
        """Where each row (a column) ends in each tree (a row)."""
        rows = columns.shape[1]
        compared = columns.ravel()
        found = self._walk_top(columns, trees)
        path = np.flatnonzero(self._inner.take(found))
        node = found.take(path)
        row = np.tile(np.arange(rows), len(found) // rows).take(path)
        while len(path):
            for _ in range(STRIDE):
                value = compared.take(self._column.take(node) * rows + row)
                turn = value <= self._threshold.take(node)
                node = self._child.take(2 * node + turn)
            found[path] = node
            goes_on = np.flatnonzero(self._inner.take(node))
            path, node, row = path.take(goes_on), node.take(goes_on), row.take(goes_on)
        return found.reshape(-1, rows)

    def _walk_top(self, columns: Values, trees: slice) -> Index:
        """Where each path is after the first levels."""
        # All ones or zeros, to choose with: a quarter of the time of `np.where`.
        turns = [
            -(columns[self._column[node]] <= self._threshold[node][:, None]).view(np.uint8)
            for node in self._top[:, trees]
        ]
        lowest = turns[len(turns) // 2 :]
        place = [2 * i + (turn & 1) for i, turn in enumerate(lowest)]
        while len(place) > 1:
            upper = turns[len(place) // 2 - 1 : len(place) - 1]
            place = [
                right ^ ((right ^ left) & turn)
                for turn, right, left in zip(upper, place[::2], place[1::2], strict=True)
            ]
        below = self._below[trees]
        first = np.arange(len(below))[:, None] * below.shape[1]
        found: Index = below.take((first + place[0]).ravel())
        return found
