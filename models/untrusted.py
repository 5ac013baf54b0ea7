"""Reading what was learned from bytes that anyone may have made.

What is read holds numbers, never code. But who walks a tree trusts them: a child that is its own
ancestor would be walked for ever. So trees are checked first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core import InputError, max_bytes, open_zip, remedy_for, unzip

# The memory that trees take while they are checked, in multiples of their size in the file: of the
# usual limit, the file may have some 4 million nodes. A hundred trees that may grow as they like on
# 22,000 rows have 1.3.
GROWTH = 5
COPY_OR_RETRAIN_HINT = "copy it again, or train another"
# Each is a step of loops in Python.
MAX_TREES = 10_000
# Trees that may grow as they like on 20,000 rows are some 30 deep.
MAX_DEPTH = 512
# Steps from the root to the leaves of a tree, to all of them together: explaining a score takes
# some 100 bytes for each. A tree of 20,000 leaves that are 30 deep has 600,000.
MAX_STEPS = 5_000_000


def max_predictor_bytes() -> int:
    """Limit on the unpacked bytes of a predictor's file."""
    return max_bytes() // GROWTH


def read_zip(data: bytes) -> dict[str, bytes]:
    """All files of a zip archive.

    Raises:
        InputError: it is damaged, or holds more than `max_predictor_bytes`.
    """
    try:
        archive = open_zip(data)
        return dict(unzip(archive, archive.namelist(), max_predictor_bytes()))
    except ValueError as error:
        raise InputError(str(error), remedy_for(error, COPY_OR_RETRAIN_HINT)) from None


def check_trees(
    sizes: NDArray[np.int64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    feature: NDArray[np.int64],
    features: int,
) -> None:
    """Refuses what is no list of binary trees over so many features.

    Args:
        sizes: how many nodes each tree has, its root first. The other arrays have a value for
            each of them, one tree after the other.
        left, right: how far from a node its children are; 0 for those of a leaf.
        feature: which one a node tests; of a leaf, any.

    Raises:
        ValueError: naming what is wrong.
    """
    count = len(left)
    if not len(sizes) or (sizes <= 0).any() or sizes.sum() != count:
        raise ValueError("the sizes of its trees are wrong")
    if len(sizes) > MAX_TREES:
        raise ValueError(f"it has more than {MAX_TREES} trees")
    inner = np.flatnonzero((left != 0) | (right != 0))
    if ((feature < 0) | (feature >= features)).any():
        raise ValueError("a tree tests a feature that does not exist")
    tree = np.repeat(np.arange(len(sizes)), sizes)
    roots = np.cumsum(sizes) - sizes
    children = np.concatenate([inner + left[inner], inner + right[inner]])
    if len(children) and not 0 <= children.min() <= children.max() < count:
        raise ValueError("a tree has impossible nodes")
    # Paths could be longer than a tree is deep if they met again, and endless in a circle.
    parents = np.bincount(children, minlength=count)
    parents[roots] += 1
    if (parents != 1).any() or (tree[children] != np.tile(tree[inner], 2)).any():
        raise ValueError("a tree has impossible nodes")
    depth, reached, level = 0, len(roots), roots
    steps = np.zeros(len(sizes))
    while len(level := level[left[level] != 0]):
        level = np.concatenate([level + left[level], level + right[level]])
        depth, reached = depth + 1, reached + len(level)
        if depth > MAX_DEPTH:
            raise ValueError(f"a tree is deeper than {MAX_DEPTH}")
        steps += depth * np.bincount(tree[level[left[level] == 0]], minlength=len(sizes))
        if steps.max() > MAX_STEPS:
            raise ValueError(
                f"the leaves of a tree are more than {MAX_STEPS:,} steps from its root"
            )
    if reached != count:
        raise ValueError("a tree has impossible nodes")
