"""The search: candidates are taken in an order, run, logged and shown, until a limit is reached.

Tuning, the runner of bundles and replays of recordings all go through `search`, so what is
evaluated on recordings is what a tuning run does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Protocol

from .budget import Budget, Course
from .outcome import Outcome
from .runner import Runner


class Order(Protocol):
    """Says which candidates come next."""

    @property
    def batch(self) -> int | None:
        """How many are taken between two looks at the outcomes; None if it looks at none."""

    def next(self, outcomes: Mapping[int, Outcome], count: int) -> list[int]:
        """Queue positions, at most `count`, of candidates without an outcome.

        Args:
            outcomes: by queue position, in the order in which they were taken.
        """


class Log(Protocol):
    """Keeps outcomes."""

    @property
    def outcomes(self) -> Mapping[int, Outcome]:
        """By queue position, in the order in which they were taken."""

    def append(self, index: int, outcome: Outcome) -> None:
        """Keeps one more."""


class Limits(Protocol):
    """Says when it is enough."""

    def stops(self, course: Course) -> str | None:
        """Why no more candidates are taken, in words; None to go on."""

    def room(self, course: Course, batch: int) -> int:
        """How many candidates the next batch may hold."""


class BudgetLimits:
    """The limits of a budget, from now on.

    Args:
        total: candidates in the queue.
    """

    def __init__(self, budget: Budget, total: int) -> None:
        self.budget = budget
        self.total = total
        self.started = time.monotonic()

    def stops(self, course: Course) -> str | None:
        return self.budget.stops(course, self.total, time.monotonic() - self.started)

    def room(self, course: Course, batch: int) -> int:
        return self.budget.room(course.taken, batch)


class QueueOrder:
    """As the queue was ranked.

    Args:
        length: of the queue.
    """

    batch = None

    def __init__(self, length: int) -> None:
        self.length = length
        self._first = 0

    def next(self, outcomes: Mapping[int, Outcome], count: int) -> list[int]:
        # All before the first that is left have been taken: a long queue is not read again.
        while self._first in outcomes:
            self._first += 1
        # Devices that work at the same time may leave gaps when a session ends.
        left = (i for i in range(self._first, self.length) if i not in outcomes)
        return list(islice(left, count))


class Outcomes:
    """A log that is kept in memory."""

    def __init__(self) -> None:
        self.outcomes: dict[int, Outcome] = {}

    def append(self, index: int, outcome: Outcome) -> None:
        self.outcomes[index] = outcome


def search(
    runner: Runner,
    order: Order,
    log: Log,
    limits: Limits,
    show: Callable[[Outcome, Course], None] = lambda outcome, course: None,
    after_batch: Callable[[Course], None] = lambda course: None,
) -> str:
    """Takes candidates until a limit is reached; tells which one it was, in words.

    Args:
        runner: started, with the outcomes that the log holds.
        log: its outcomes count as taken, and are shown first.
        show: told each outcome, and how far the run has come with it.
        after_batch: told how far the run has come after each batch, also where an error or Ctrl-C
            ends it.
    """
    course = Course()
    for outcome in log.outcomes.values():
        course.add(outcome)
        show(outcome, course)
    while not (stopped := limits.stops(course)):
        count = limits.room(course, order.batch or runner.batch)
        batch = order.next(log.outcomes, count)
        try:
            for index, outcome in runner.run(batch, lambda: not limits.stops(course)):
                log.append(index, outcome)
                course.add(outcome)
                show(outcome, course)
        finally:
            after_batch(course)
    return stopped
