"""Small trees for many rows: each split is decided for all rows, whether they reach it or not.

Splits of one height, of all trees, are decided together, from the leaves up, so that each step of
Python serves many. 150 trees of 15 leaves, as each predictor of the package has them,
take 4 ms for 4,000 rows and 21 for 20,000, where walking each row through each tree takes 12 and 62
(one core, Zen 4). For 300 rows both take 1 ms.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .trees import Trees

Index = NDArray[np.int64]
Values = NDArray[np.float32]

# So many leaves of a tree are told apart by a byte.
MOST_LEAVES = 256
# From so many rows on it takes less than walking; with half as many at once as the most it takes
# 1.3 times as long, as each step of Python serves fewer, and with twice as many no less.
FEWEST_ROWS, MOST_ROWS = 512, 4096
# What each thread keeps: a shipped predictor needs 8 MB.
MOST_BYTES = 32 << 20
# Each split is decided for each row, so that trees of more take longer than to walk: 300 of 31
# leaves as long, 1,000 of 64 six times, with 0.4 GB.
MOST_SPLITS = MOST_BYTES // MOST_ROWS


@dataclass(frozen=True)
class Splits:
    """The inner nodes of all trees, by height: each comes after those below it.

    Attributes:
        column, threshold: of comparisons, by column; many splits have the same.
        comparison: for each split, which one; rows whose value is up to the threshold go left.
        left, right: where they come to: the number of a leaf in its tree, or, from `leaves` on,
            the place of a split.
        root: where they start, for each tree.
        ends: for each height, how many splits are no higher.
        leaves: how many there are in a tree at most.
    """

    column: Index
    threshold: Values
    comparison: Index
    left: Index
    right: Index
    root: Index
    ends: Index
    leaves: int

    @classmethod
    def of(cls, trees: Trees, column: Index, number: Index, root: Index) -> Splits:
        """
        Args:
            column: by node, the one that it compares.
            number: by node, of a leaf its number in its tree.
            root: the first node of each tree.
        """
        inner = np.flatnonzero(trees.left)
        left, right = inner + trees.left[inner], inner + trees.right[inner]
        height, higher = np.zeros((2, len(trees.left)), np.int64)
        while True:
            higher[inner] = 1 + np.maximum(height[left], height[right])
            if (higher == height).all():
                break
            height[:] = higher
        order = np.argsort(height[inner], kind="stable")
        leaves = int(number.max()) + 1
        place = number.copy()
        place[inner[order]] = leaves + np.arange(len(inner))
        ends = np.cumsum(np.bincount(height)[1:])
        column, threshold = column[inner], trees.threshold[inner]
        by_column = column << 32 | threshold.view(np.uint32)
        _, first, comparison = np.unique(by_column, return_index=True, return_inverse=True)
        return cls(
            column[first],
            threshold[first],
            comparison[order],
            place[left[order]],
            place[right[order]],
            place[root],
            ends,
            leaves,
        )

    @property
    def levels(self) -> Sequence[slice]:
        """The splits of each height that has any."""
        return [slice(start, end) for start, end in pairwise([0, *self.ends]) if start < end]

    def that_decide(self, lowest: Values, highest: Values) -> Splits:
        """Those that send rows to either side, and that rows come to, if these are the extremes.

        A third to a half are others: many features are alike for all candidates of a dispatch.
        """
        goes_left = (highest[self.column] <= self.threshold)[self.comparison]
        goes_right = (lowest[self.column] > self.threshold)[self.comparison]
        left, right = self.left.copy(), self.right.copy()
        leads_to = np.arange(self.leaves + len(self.left))
        for level in self.levels:
            left[level], right[level] = leads_to[left[level]], leads_to[right[level]]
            here = leads_to[self.leaves :][level]
            np.copyto(here, left[level], where=goes_left[level])
            np.copyto(here, right[level], where=goes_right[level])
        root = leads_to[self.root]
        reached = np.zeros(len(leads_to), dtype=bool)
        reached[root] = True
        for level in self.levels[::-1]:
            here = reached[self.leaves :][level]
            reached[left[level][here]] = reached[right[level][here]] = True
        kept = np.flatnonzero(reached[self.leaves :])
        place = np.arange(len(leads_to))
        place[self.leaves + kept] = self.leaves + np.arange(len(kept))
        compared, comparison = np.unique(self.comparison[kept], return_inverse=True)
        return replace(
            self,
            column=self.column[compared],
            threshold=self.threshold[compared],
            comparison=comparison,
            left=place[left[kept]],
            right=place[right[kept]],
            root=place[root],
            ends=np.searchsorted(kept, self.ends),
        )


class Selector:
    """The answers of trees of at most `MOST_LEAVES` leaves.

    Args:
        column: by node, the row of what `answers` takes that it compares.
    """

    def __init__(self, trees: Trees, column: Index) -> None:
        size = trees.size.astype(np.int64)
        root = np.cumsum(size) - size
        leaf = trees.left == 0
        before = np.cumsum(leaf) - leaf
        number = np.where(leaf, before - np.repeat(before[root], size), 0)
        self._splits = Splits.of(trees, column, number, root)
        leaves = self._splits.leaves
        self._answers = np.zeros((len(size), leaves))
        tree = np.repeat(np.arange(len(size)), size)
        self._answers[tree[leaf], number[leaf]] = trees.value[leaf]
        # Of two small trees, the sums of their answers: to look up one takes half as long as two.
        self._sums = None
        if leaves**2 <= MOST_LEAVES:
            other = np.zeros(((len(size) + 1) // 2, leaves))
            other[: len(size) // 2] = self._answers[1::2]
            self._sums = (self._answers[::2, :, None] + other[:, None]).reshape(len(other), -1)

    def answers(self, columns: Values) -> Iterator[NDArray[np.float64]]:
        """One array per two trees: the sum of what they answer each row.

        Args:
            columns: what is compared with thresholds, a row per column and a column per row.
        """
        # The extremes are NaN where values are missing: then no comparison holds.
        splits = self._splits.that_decide(columns.min(axis=1), columns.max(axis=1))
        leaves = _leaves(splits, columns)
        if self._sums is None:
            for at in range(0, len(leaves), 2):
                yield sum(map(np.take, self._answers[at : at + 2], leaves[at : at + 2]))
        else:
            numbers = leaves[::2] * np.uint8(splits.leaves)
            numbers[: len(leaves) // 2] += leaves[1::2]
            yield from map(np.take, self._sums, numbers)


def _leaves(splits: Splits, columns: Values) -> NDArray[np.uint8]:
    """Of each tree, the number of the leaf that each row comes to."""
    compared, rows = len(splits.column), columns.shape[1]
    memory = _memory.rows(compared + splits.leaves + len(splits.left), rows)
    turns, found = memory[:compared], memory[compared:]
    _compare(splits, columns, turns)
    found[: splits.leaves] = np.arange(splits.leaves, dtype=np.uint8)[:, None]
    of_splits = found[splits.leaves :]
    for level in splits.levels:
        here, other = of_splits[level], found.take(splits.right[level], axis=0)
        np.bitwise_xor(found.take(splits.left[level], axis=0), other, out=here)
        here &= turns.take(splits.comparison[level], axis=0)
        here ^= other
    return found.take(splits.root, axis=0)


def _compare(splits: Splits, columns: Values, turns: NDArray[np.uint8]) -> None:
    """Sets, for each comparison, which rows go left: all ones or zeros, to choose with."""
    starts = np.flatnonzero(np.diff(splits.column, prepend=-1, append=-1))
    for start, end in pairwise(starts):
        thresholds = splits.threshold[start:end, None]
        np.less_equal(columns[splits.column[start]], thresholds, out=turns[start:end].view(bool))
    np.negative(turns, out=turns)


class Memory(threading.local):
    """Memory that a thread uses again and again: fresh pages cost more than what is done with them.

    Without it, 4,000 rows took 150 trees 9 ms, not 3, where the system took pages back each time.
    """

    def __init__(self) -> None:
        self._bytes = np.empty(0, np.uint8)

    def rows(self, count: int, length: int) -> NDArray[np.uint8]:
        """Rows of anything, which are the thread's until it calls again."""
        size = count * length
        if size > MOST_BYTES:
            return np.empty((count, length), np.uint8)
        if size > len(self._bytes):
            self._bytes = np.empty(size, np.uint8)
        return self._bytes[:size].reshape(count, length)


_memory = Memory()
