"""Answers from outcomes that are known: searches without hardware, and in no time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence

from ...core import InputError
from ..measuring import OK, FinalistResult, Finals, Outcome, RunFailed


class ReplayRunner:
    """A runner of what was recorded.

    Args:
        outcomes: by queue position.
        baseline_us: what the compiler's default took, by device.
        noise_floor: of the recording.
        batch: how many candidates it is asked for at a time.
    """

    def __init__(
        self,
        outcomes: Mapping[int, Outcome],
        baseline_us: Mapping[str, float],
        *,
        noise_floor: float = 0.0,
        batch: int = 8,
    ) -> None:
        self._known = outcomes
        self._baseline_us = dict(baseline_us)
        self._noise_floor = noise_floor
        self.batch = batch
        self.fingerprints = tuple(baseline_us)

    def start(self, known: Mapping[int, Outcome]) -> dict[str, float]:
        return self._baseline_us

    def run(
        self, batch: Sequence[int], should_continue: Callable[[], bool] = lambda: True
    ) -> Iterator[tuple[int, Outcome]]:
        for index in batch:
            outcome = self.outcome(index)
            if not should_continue():
                return
            yield index, outcome

    def outcome(self, index: int) -> Outcome:
        """What was recorded of a candidate.

        Raises:
            InputError: nothing was.
        """
        if index not in self._known:
            raise InputError(
                f"the recording has no outcome of candidate {index}",
                "replay the queue that was recorded",
            )
        return self._known[index]

    def finals(self, contenders: Sequence[int], outcomes: Mapping[int, Outcome]) -> Finals:
        """As they were recorded: each in one round."""
        baseline_us = next(iter(self._baseline_us.values()))
        standings = []
        for index in contenders:
            speedup = 1 / (self._known[index].relative or 1.0)
            time_us = baseline_us / speedup
            standings.append(
                FinalistResult(index, speedup, (speedup, speedup), time_us, (speedup,))
            )
        standings.sort(key=lambda standing: -standing.speedup)
        return Finals(tuple(standings), baseline_us, self._noise_floor)

    def confirm(self, index: int) -> Finals:
        """As it was recorded: nothing else is known."""
        return self.finals([index], self._known)

    def verify(self, index: int, spec: str) -> None:
        known = self._known[index]
        if known.kind != OK:
            raise RunFailed(known.kind, known.reason)

    def close(self) -> None:
        pass


class StreamingReplayRunner(ReplayRunner):
    """Replays on several devices at a time: outcomes come late, as many taken meanwhile.

    Args:
        outcomes: by queue position.
        devices: each takes as long for a candidate as the others.
    """

    def __init__(self, outcomes: Mapping[int, Outcome], devices: int) -> None:
        super().__init__(outcomes, {})
        self._devices = devices

    def stream(
        self, take: Callable[[int], Sequence[int]], should_continue: Callable[[], bool]
    ) -> Iterator[tuple[int, Outcome]]:
        """Yields outcomes in the order in which candidates were taken."""
        measuring: deque[int] = deque()
        while should_continue():
            measuring.extend(take(self._devices - len(measuring)))
            if not measuring:
                return
            index = measuring.popleft()
            yield index, self.outcome(index)
