"""When to stop a run: after so many candidates, so many seconds, or so many without progress."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import overload

from ...core import InputError
from .outcome import Outcome

# A year.
MOST_MINUTES = 525_600


@dataclass
class RunProgress:
    """How far a run has come.

    Attributes:
        taken: candidates so far.
        best: the lowest time so far, as a share of the baseline's.
        without_improvement: candidates in a row, up to the last, without an improvement.
    """

    taken: int = 0
    best: float | None = None
    without_improvement: int = 0

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> RunProgress:
        """How far a run has come with these."""
        progress = cls()
        for outcome in outcomes:
            progress.add(outcome)
        return progress

    def add(self, outcome: Outcome) -> None:
        # What runs the same program is no faster, whatever rounding makes of its time.
        relative = outcome.relative if outcome.same_as is None else None
        better = relative is not None and (self.best is None or relative < self.best)
        self.taken += 1
        self.without_improvement = 0 if better else self.without_improvement + 1
        self.best = relative if better else self.best


@dataclass(frozen=True)
class Budget:
    """Limits of a run; the first that is reached ends it. None is no limit.

    Attributes:
        candidates: queue entries to take, failures counted.
        seconds: after which no more candidates are taken, from when they are in order, earlier
            sessions not counted; the finals come on top.
        patience: candidates in a row that bring no improvement.
    """

    candidates: int | None = None
    seconds: float | None = None
    patience: int | None = None

    def __post_init__(self) -> None:
        for name in ("candidates", "seconds", "patience"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"the budget's {name} must be more than 0, got {value:g}")


@overload
def minutes_to_seconds(minutes: float) -> float: ...


@overload
def minutes_to_seconds(minutes: float | None) -> float | None: ...


def minutes_to_seconds(minutes: float | None) -> float | None:
    """A limit in seconds, of one in minutes; None is no limit.

    Raises:
        InputError: it is no span of time.
    """
    if minutes is None:
        return None
    if not 0 < minutes <= MOST_MINUTES:
        raise InputError(
            f"minutes must be more than 0 and at most {MOST_MINUTES:,}, got {minutes:g}",
            "give some, such as 5",
        )
    return 60 * minutes
