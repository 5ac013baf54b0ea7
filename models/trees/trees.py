"""Trees as a few arrays of numbers: small in a file, read in milliseconds, walked fast.

Whatever library trained them. On 22,000 candidates: 300 trees of LightGBM took 126 kB and 16 ms to
load, not the 332 kB and 70 ms of LightGBM's text with the checks that it needs; 100 trees of
scikit-learn 1.9 MB and 43 ms, not the 7.5 MB and 2 s of skops, whose files also differ from one run
to the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core import InputError
from ..untrusted import check_trees
from .walker import Walker

# Little-endian, as they stand in files.
_TYPES = {
    "size": "<u4",
    "left": "<i4",
    "right": "<i4",
    "feature": "<u2",
    "threshold": "<f4",
    "missing": "<u1",
    "value": "<f4",
    "cover": "<f4",
    "importance": "<f4",
    "slopes": "<f4",
    "centers": "<f4",
}
_LINEAR = ("slopes", "centers")


@dataclass(frozen=True, eq=False)
class Trees:
    """Regression trees whose answers are added up, and added to a linear function.

    All but the first and the last three arrays have an item for each node, one tree after the
    other, each with its root first.

    Attributes:
        size: how many nodes each tree has.
        left, right: how far on from a node its children are; 0 for those of a leaf.
        feature: which one a node tests; 0 for a leaf, as in what follows.
        threshold: values up to this go left.
        missing: whether a missing value goes left.
        value: a leaf's answer; 0 for other nodes.
        cover: how many training rows reached the node.
        importance: each feature's share in what was gained in training.
        slopes: each feature's factor in the linear function, mostly 0.
        centers: each feature's value where it adds nothing.
    """

    size: NDArray[np.uint32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    feature: NDArray[np.uint16]
    threshold: NDArray[np.float32]
    missing: NDArray[np.uint8]
    value: NDArray[np.float32]
    cover: NDArray[np.float32]
    importance: NDArray[np.float32]
    slopes: NDArray[np.float32]
    centers: NDArray[np.float32]

    @classmethod
    def make(cls, **columns: ArrayLike) -> Self:
        """Trees from arrays of any type of number.

        Raises:
            ValueError: they are no trees.
        """
        # Thresholds are rounded down: so no float32 value changes sides.
        columns["threshold"] = _below(np.asarray(columns["threshold"], np.float64))
        for name in _LINEAR:
            columns.setdefault(name, np.zeros(len(np.asarray(columns["importance"]))))
        return cls(**{n: np.asarray(columns[n]).astype(t) for n, t in _TYPES.items()})

    @classmethod
    def decode(cls, pieces: Mapping[str, bytes], features: int) -> Self:
        """The inverse of `encode`, on bytes that may come from anyone.

        Raises:
            InputError: they are no trees over so many features.
        """
        # Earlier files are of trees alone.
        zeros = bytes(len(pieces.get("importance", b"")))
        pieces = dict.fromkeys(_LINEAR, zeros) | dict(pieces)
        try:
            trees = cls(**{n: np.frombuffer(pieces[n], dtype) for n, dtype in _TYPES.items()})
            if len(trees.importance) != features:
                raise ValueError(f"its trees are over {len(trees.importance)} features")
        except KeyError as error:
            raise InputError(f"what was learned is damaged (it lacks {error})") from None
        except ValueError as error:
            raise InputError(f"what was learned is damaged ({error})") from None
        return trees

    def __post_init__(self) -> None:
        by_feature = {"importance", *_LINEAR}
        lengths = {len(getattr(self, name)) for name in set(_TYPES) - by_feature - {"size"}}
        if len(lengths) > 1 or len({len(getattr(self, name)) for name in by_feature}) > 1:
            raise ValueError("its arrays are of different lengths")
        size, left, right, feature = (
            getattr(self, name).astype(np.int64) for name in ("size", "left", "right", "feature")
        )
        check_trees(size, left, right, feature, len(self.importance))
        inner, cover = np.flatnonzero(left), self.cover
        children = np.concatenate([inner + left[inner], inner + right[inner]])
        if not (
            np.isfinite(self.value).all()
            and all(np.isfinite(getattr(self, name)).all() for name in _LINEAR)
            and not np.isnan(self.threshold).any()
            and (np.isfinite(cover) & (cover > 0)).all()
            and (cover[children] <= np.tile(cover[inner], 2)).all()
        ):
            raise ValueError("it has impossible numbers")

    def encode(self) -> dict[str, bytes]:
        """One piece of bytes per array."""
        return {field.name: getattr(self, field.name).tobytes() for field in fields(self)}

    def predict(self, values: NDArray[np.float32]) -> NDArray[np.float64]:
        """One answer per row."""
        answers = self._walker.predict(values)
        for _, share in self.lines(values):
            answers += share
        return answers

    def lines(self, values: NDArray[np.float32]) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Each feature of the linear function, and what it adds to each row; 0 if missing."""
        for i in np.flatnonzero(self.slopes).tolist():
            distance = values[:, i].astype(np.float64) - self.centers[i]
            yield i, np.where(np.isfinite(distance), distance, 0) * np.float64(self.slopes[i])

    @cached_property
    def _walker(self) -> Walker:
        return Walker(self)


def _below(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """The largest float32 that is not above each value."""
    with np.errstate(over="ignore"):
        near = values.astype(np.float32)
    return np.where(near <= values, near, np.nextafter(near, np.float32(-np.inf)))
