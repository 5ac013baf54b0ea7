"""The search: candidates are taken in an order, run, logged and shown, until a limit is reached.

Tuning, the runner of bundles and replays of recordings all go through `search`, so what is
evaluated on recordings is what a tuning run does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Mapping
from itertools import islice
from typing import Protocol

from .budget import Budget, RunProgress
from .outcome import Outcome
from .runner import Runner, StreamingRunner

# Outcomes of a stream that count as a batch.
BLOCK = 64


class CandidateOrder(Protocol):
    """The order in which candidates are taken."""

    @property
    def batch(self) -> int | None:
        """How many are taken between two looks at the outcomes; None if it looks at none."""

    def next(
        self, outcomes: Mapping[int, Outcome], count: int, in_flight: Collection[int] = ()
    ) -> list[int]:
        """Queue positions, at most `count`, of candidates without an outcome.

        Args:
            outcomes: by queue position, in the order in which they were taken.
            in_flight: candidates that were taken, and whose outcome is not known yet.
        """


class OutcomeLog(Protocol):
    """Keeps outcomes."""

    @property
    def outcomes(self) -> Mapping[int, Outcome]:
        """By queue position, in the order in which they were taken."""

    def append(self, index: int, outcome: Outcome) -> None:
        """Keeps one more."""


class BudgetStopping:
    """Stops when a budget is used up; time counts from when this is made.

    Args:
        total: candidates in the queue.
    """

    def __init__(self, budget: Budget, total: int) -> None:
        self.budget = budget
        self.total = total
        self.started = time.monotonic()

    def stop_reason(self, progress: RunProgress) -> str | None:
        """Why no more candidates are taken, in words; None to go on."""
        budget = self.budget
        if progress.taken >= self.total:
            return f"all {self.total} candidates"
        if budget.candidates is not None and progress.taken >= budget.candidates:
            return f"budget of {budget.candidates} candidates"
        if budget.seconds is not None and time.monotonic() - self.started >= budget.seconds:
            return f"budget of {budget.seconds:g} s"
        if budget.patience is not None and progress.without_improvement >= budget.patience:
            return f"no improvement in {budget.patience} candidates"
        return None

    def next_batch_size(self, progress: RunProgress, batch: int, in_flight: int = 0) -> int:
        """How many candidates the next batch may hold, with so many still in flight."""
        most = self.budget.candidates
        return batch if most is None else min(batch, most - progress.taken - in_flight)


class QueueOrder:
    """Takes candidates in the queue's own order.

    Args:
        length: of the queue.
    """

    batch = None

    def __init__(self, length: int) -> None:
        self.length = length
        # All before it were known or given; of these, not known when last looked.
        self._following = 0
        self._given: list[int] = []

    def next(
        self, outcomes: Mapping[int, Outcome], count: int, in_flight: Collection[int] = ()
    ) -> list[int]:
        # Devices that work at the same time leave gaps; a long queue is not read again for them.
        self._given = [i for i in self._given if i not in outcomes]
        found = list(islice((i for i in self._given if i not in in_flight), count))
        while len(found) < count and self._following < self.length:
            index = self._following
            self._following += 1
            if index not in outcomes:
                self._given.append(index)
                if index not in in_flight:
                    found.append(index)
        return found


class MemoryLog:
    """A log that is kept in memory."""

    def __init__(self) -> None:
        self.outcomes: dict[int, Outcome] = {}

    def append(self, index: int, outcome: Outcome) -> None:
        self.outcomes[index] = outcome


def search(
    runner: Runner,
    order: CandidateOrder,
    log: OutcomeLog,
    stopping: BudgetStopping,
    on_outcome: Callable[[Outcome, RunProgress], None] = lambda outcome, progress: None,
    after_batch: Callable[[RunProgress], None] = lambda progress: None,
) -> str:
    """Takes candidates until a limit is reached; tells which one it was, in words.

    Args:
        runner: started, with the outcomes that the log holds.
        log: its outcomes count as taken, and are shown first.
        on_outcome: told each outcome, and how far the run has come with it.
        after_batch: told how far the run has come after each batch, also where an error or Ctrl-C
            ends it.
    """
    progress = RunProgress()
    for outcome in log.outcomes.values():
        progress.add(outcome)
        on_outcome(outcome, progress)
    in_flight: set[int] = set()
    # Chosen, and not taken yet: an order that looks back is not asked for each candidate anew.
    chosen: list[int] = []

    def take(count: int) -> list[int]:
        count = stopping.next_batch_size(progress, count, len(in_flight))
        if count > len(chosen):
            more = max(count - len(chosen), order.batch or 0)
            chosen.extend(order.next(log.outcomes, more, {*in_flight, *chosen}))
        taken = chosen[: max(0, count)]
        del chosen[: len(taken)]
        in_flight.update(taken)
        return taken

    def should_continue() -> bool:
        return not stopping.stop_reason(progress)

    while should_continue():
        if streaming := isinstance(runner, StreamingRunner):
            outcomes = runner.stream(take, should_continue)
        else:
            outcomes = runner.run(take(order.batch or runner.batch), should_continue)
        try:
            for index, outcome in outcomes:
                log.append(index, outcome)
                in_flight.discard(index)
                progress.add(outcome)
                on_outcome(outcome, progress)
                if streaming and progress.taken % BLOCK == 0:
                    after_batch(progress)
        finally:
            if isinstance(outcomes, Generator):
                outcomes.close()  # before the runner is, or its threads would go on without it
            after_batch(progress)
        in_flight.clear()  # what was taken and not run is taken again
        chosen.clear()
    return stopping.stop_reason(progress) or ""
