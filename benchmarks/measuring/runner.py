"""Runners compile, measure and verify candidates, wherever compilers and devices are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

from .finals import Finals
from .outcome import Outcome


class Runner(Protocol):
    """Says what becomes of candidates, which it knows by their queue position.

    A runner is started once, and closed whatever happens. To run candidates elsewhere, write
    another; a tuning run needs no more than this (and `MeasuringRunner`, if it measures).
    """

    @property
    def batch(self) -> int:
        """How many candidates it is best given next."""

    def start(self, known: Mapping[int, Outcome]) -> Mapping[str, float]:
        """Gets ready: the compiler's default is tried, devices are started.

        Args:
            known: outcomes of earlier sessions.

        Returns:
            Microseconds that the default takes, by device; empty if nothing is measured.

        Raises:
            WorkError: the default does not work, or a device does not answer.
        """

    def run(
        self, batch: Sequence[int], should_continue: Callable[[], bool]
    ) -> Iterator[tuple[int, Outcome]]:
        """Yields outcomes as soon as they are known, until `should_continue` returns False."""

    def close(self) -> None:
        """Ends what it has started."""


@runtime_checkable
class StreamingRunner(Runner, Protocol):
    """A runner that takes candidates as it has room for them, so that no device ever waits."""

    def stream(
        self, take: Callable[[int], Sequence[int]], should_continue: Callable[[], bool]
    ) -> Iterator[tuple[int, Outcome]]:
        """Yields outcomes as soon as they are known, until `should_continue` returns False.

        Args:
            take: gives at most so many candidates, of which none was taken before; none if there
                are no more for now. Called between two outcomes.
        """


@runtime_checkable
class MeasuringRunner(Runner, Protocol):
    """A runner that also settles which candidate wins."""

    @property
    def fingerprints(self) -> Sequence[str]:
        """Fingerprints of what it measures on."""

    def finals(self, contenders: Sequence[int], outcomes: Mapping[int, Outcome]) -> Finals:
        """Measures candidates again, interleaved with the default, to tell which are the best.

        Raises:
            KilledError: nothing is known of one of them, since it was killed from outside.
        """

    def confirm(self, index: int) -> Finals:
        """Measures one of the finalists against the default, in rounds that did not choose it.

        Raises:
            KilledError: as `finals`.
        """

    def verify(self, index: int, spec: str) -> None:
        """Compares a candidate's outputs with the default's, on inputs that the search never saw.

        Args:
            spec: the tuning spec as it will be written; empty where there is none.

        Raises:
            RunFailed: they differ, or it does not run.
        """
