"""A ranker that is checked, and what makes a function a check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, wraps
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from ...core import InputError
from ..ordering import order
from ..ranker import Ranker, Scores
from ..registry import ranker_class
from .samples import measured_candidates

# A ranker's name, its class, or what makes one when it is called.
Checkable: TypeAlias = str | type[Ranker] | Callable[[], Ranker]


class CheckedRanker:
    """A ranker with its parameters, looked up when a check first needs it.

    Attributes:
        shared_with: those that are taken to other processes when this one is.
        process_results: what it came to in these; empty before that.
    """

    def __init__(self, ranker: Checkable, params: Mapping[str, Any]) -> None:
        self._ranker = ranker
        self._params = dict(params)
        self.shared_with: tuple[CheckedRanker, ...] = (self,)
        self.process_results: list[dict[str, Any]] = []

    def __str__(self) -> str:
        name = self._ranker if isinstance(self._ranker, str) else _name(self._ranker)
        return "-".join([name, *(f"{k}={v}" for k, v in self._params.items())])

    @cached_property
    def _made(self) -> tuple[type[Ranker], dict[str, Any]]:
        ranker = self._ranker
        if isinstance(ranker, str):
            return ranker_class(ranker), self._params
        if isinstance(ranker, type):
            return ranker, self._params
        made = ranker()
        return type(made), made.get_params() | self._params

    @property
    def cls(self) -> type[Ranker]:
        return self._made[0]

    @property
    def params(self) -> dict[str, Any]:
        return self._made[1]

    @property
    def name(self) -> str:
        return self.cls.name

    def make(self) -> Ranker:
        """A new one that has learned nothing."""
        return self.cls(**self.params)

    @cached_property
    def trained(self) -> Ranker:
        """One that was trained on `measured_candidates`; no check may change it."""
        return self.make().fit(*measured_candidates())


Check: TypeAlias = Callable[..., None]


def check(function: Callable[[CheckedRanker], None]) -> Check:
    """Has a function take a name, a class or a factory, and say which ranker fails at what."""

    @wraps(function)
    def run(ranker: Checkable | CheckedRanker, /, **params: Any) -> None:
        subject = ranker if isinstance(ranker, CheckedRanker) else CheckedRanker(ranker, params)
        fails = f"{subject} fails {function.__name__}:"
        try:
            function(subject)
        except AssertionError as error:
            raise AssertionError(f"{fails} {error}") from error
        except Exception as error:  # a plug-in can fail in any way
            raise AssertionError(f"{fails} it raises {type(error).__name__}: {error}") from error

    return run


def require(holds: object, problem: str) -> None:
    """An assertion that `python -O` does not remove."""
    if not holds:
        raise AssertionError(problem)


def require_equal(found: object, expected: object, problem: str) -> None:
    """Two arrays of scores have the same numbers in the same places."""
    if not np.array_equal(np.asarray(found), np.asarray(expected), equal_nan=True):
        raise AssertionError(f"{problem}: got {found}, expected {expected}")


def scores_of(ranker: Ranker, frame: pd.DataFrame) -> Scores:
    """A ranker's scores, one per row.

    Raises:
        AssertionError: they are not one number for each row.
    """
    scores = np.asarray(ranker.score(frame))
    require(
        scores.shape == (len(frame),),
        f"score() has to return one number per row, of shape ({len(frame)},), got {scores.shape}",
    )
    return scores.astype(np.float64)


def require_order(ranker: Ranker, frame: pd.DataFrame) -> None:
    """Each candidate has one place in the order, be its score NaN, which comes last.

    Raises:
        AssertionError: that is not so.
    """
    scores_of(ranker, frame)
    require(
        sorted(order(ranker, frame).tolist()) == list(range(len(frame))),
        "order() does not hold each candidate once",
    )


def require_finite(ranker: Ranker, frame: pd.DataFrame) -> None:
    """Each candidate has a score that is a finite number.

    Raises:
        AssertionError: that is not so.
    """
    bad = frame.index[~np.isfinite(scores_of(ranker, frame))].tolist()
    require(not bad, f"score() has to return finite numbers, got others for the rows {bad[:5]}")


def refusal(action: Callable[[], object]) -> str | None:
    """What an action is refused with, as an `InputError`; None if it is not."""
    try:
        action()
    except InputError as error:
        return str(error)
    return None


def _name(ranker: Checkable) -> str:
    return str(getattr(ranker, "name", getattr(ranker, "__name__", "ranker")))
