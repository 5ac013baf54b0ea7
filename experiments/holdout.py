"""What is learned from and what is judged: recordings left out in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..search import InputError
from .corpus import Case

PROBLEM, DEVICE = "problem", "device"


@dataclass(frozen=True, eq=False)
class Fold:
    """Cases to judge an order on, and those that it may be learned from.

    Attributes:
        left_out: the problem or the device of the cases in `test`.
        train: the other cases with the same feature columns; may be empty.
    """

    left_out: str
    train: tuple[Case, ...]
    test: tuple[Case, ...]


def folds(cases: Sequence[Case], by: str, parts: int | None = None) -> list[Fold]:
    """Leaves out each problem, or each device, in turn, in the order of the cases.

    Where the cases of one have different feature columns, as other people's kernels do, each kind
    is a fold of its own. What was recorded on several devices counts as each of them.

    Args:
        by: `PROBLEM` or `DEVICE`.
        parts: leaves out so many parts of the problems or devices in turn, not each of them: that
            is as many times to train.

    Raises:
        InputError: no other device is left to learn from.
    """
    keys = [getattr(case, by) for case in cases]
    if by == DEVICE and len(set(keys)) < 2:
        raise InputError(
            f"leaving one device out takes two or more, and these are recordings of one device "
            f"only: {keys[0]}",
            "add recordings of another device, or use --holdout problem",
        )
    if parts:
        places = {key: f"part {i % parts + 1}" for i, key in enumerate(dict.fromkeys(keys))}
        keys = [places[key] for key in keys]
    found = []
    for key, columns in dict.fromkeys(zip(keys, map(_columns, cases), strict=True)):
        alike = [(k, c) for k, c in zip(keys, cases, strict=True) if _columns(c) == columns]
        train = tuple(case for k, case in alike if not _parts(k) & _parts(key))
        found.append(Fold(key, train, tuple(case for k, case in alike if k == key)))
    return found


def _parts(key: str) -> set[str]:
    return set(key.split(" + "))


def _columns(case: Case) -> frozenset[str]:
    return frozenset(case.features.columns)
