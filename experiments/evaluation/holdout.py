"""Cross-validation folds over problems, families of problems or devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...core import InputError
from ..learning import Case

PROBLEM, FAMILY, DEVICE = "problem", "family", "device"
HOLDOUTS = (PROBLEM, FAMILY, DEVICE)
# Where recordings of many kinds are compared at once: a device where a kind has several.
DEVICE_OR_PROBLEM = "device or problem"


@dataclass(frozen=True, eq=False)
class Fold:
    """Cases to judge an order on, and those that it may be learned from.

    Attributes:
        left_out: the problem, the family or the device of the cases in `test`.
        train: the other cases with the same feature columns; may be empty.
    """

    left_out: str
    train: tuple[Case, ...]
    test: tuple[Case, ...]


def make_folds(cases: Sequence[Case], holdout: str, parts: int | None = None) -> list[Fold]:
    """Leaves out each problem, each family of problems, or each device, in turn.

    Cases with different feature columns, as other people's kernels have, are never learned from
    together, so that each kind has folds of its own: one kind after the other, in the order of the
    cases. What was recorded on several devices counts as each of them.

    Args:
        holdout: one of `HOLDOUTS`, or `DEVICE_OR_PROBLEM`.
        parts: leaves out so many parts of the problems, families or devices of a kind in turn, not
            each of them: that is as many times to train.

    Raises:
        InputError: `holdout` is none of them, or no other device or family is left to learn from.
    """
    if holdout == DEVICE_OR_PROBLEM:
        return _folds_of_kinds(cases, parts)
    if holdout not in HOLDOUTS:
        raise InputError(f"{holdout!r} cannot be left out", f"give one of {', '.join(HOLDOUTS)}")
    keys = [getattr(case, holdout) for case in cases]
    if holdout != PROBLEM and len(set(keys)) < 2:
        raise InputError(
            f"leaving one {holdout} out takes two or more, and these are recordings of one "
            f"{holdout} only: {keys[0]}",
            f"add recordings of another {holdout}, or use --holdout problem",
        )
    found = []
    for columns in dict.fromkeys(map(_columns, cases)):
        alike = [(k, c) for k, c in zip(keys, cases, strict=True) if _columns(c) == columns]
        for name, left in _dealt(list(dict.fromkeys(k for k, _ in alike)), parts).items():
            known = {word for key in left for word in _words(key, holdout)}
            train = tuple(case for k, case in alike if known.isdisjoint(_words(k, holdout)))
            found.append(Fold(name, train, tuple(case for k, case in alike if k in left)))
    return found


def _folds_of_kinds(cases: Sequence[Case], parts: int | None) -> list[Fold]:
    found = []
    for columns in dict.fromkeys(map(_columns, cases)):
        alike = [case for case in cases if _columns(case) == columns]
        several = len({case.device for case in alike}) > 1
        found += make_folds(alike, DEVICE if several else PROBLEM, parts)
    return found


def _dealt(keys: list[str], parts: int | None) -> dict[str, list[str]]:
    """What is left out in turn: each key by its name, or so many parts of them."""
    if parts is None:
        return {key: [key] for key in keys}
    return {f"part {i + 1}": keys[i::parts] for i in range(min(parts, len(keys)))}


def _words(key: str, holdout: str) -> list[str]:
    """Several devices by themselves; other people's kernels may have any name."""
    return key.split(" + ") if holdout == DEVICE else [key]


def _columns(case: Case) -> frozenset[str]:
    return frozenset(case.features.columns)
