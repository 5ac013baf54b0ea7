"""The append-only log of outcomes: one JSON line each, on disk before the next candidate starts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from ...benchmarks.measuring import Outcome, outcome_error, parse_outcome
from ...core import KEEP_VALID_HINT, JsonLinesFile, decode, read_whole_lines
from ..interrupted import resume_remedy

# Of a line, beside the outcome.
ELAPSED = "elapsed_s"


@dataclass(frozen=True)
class LoggedOutcomes:
    """What a log says.

    Attributes:
        count: candidates in the queue.
        devices: names of what they are measured on; none if nothing is measured, None if they
            come and go.
        outcomes: by queue position, in the order in which they came.
        elapsed: seconds that the run had worked by then, all sessions together; none in logs of
            older versions, and of what was measured elsewhere.
    """

    count: int
    devices: Sequence[str] | None
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    elapsed: dict[int, float] = field(default_factory=dict)

    def take(self, record: dict[str, Any]) -> None:
        """Takes a line in.

        Raises:
            ValueError, KeyError: it cannot be of such a run.
        """
        fields = dict(record)
        elapsed = decode(float, fields.pop(ELAPSED, 0.0), ELAPSED)
        index, outcome = parse_outcome(fields)
        if wrong := outcome_error(index, outcome, self.outcomes, self.count, self.devices):
            raise ValueError(wrong)
        if elapsed < 0:
            raise ValueError(f"candidate {index} came after {elapsed:g} s")
        self.outcomes[index] = outcome
        if ELAPSED in record:
            self.elapsed[index] = elapsed


def read_outcomes(path: Path, count: int, devices: Sequence[str] | None) -> LoggedOutcomes:
    """What a log says, which may be written to meanwhile; nothing where there is none yet.

    A last line that is not whole yet is passed over.

    Args:
        count, devices: as of `LoggedOutcomes`.

    Raises:
        InputError: it is not a journal of such a run.
    """
    found = LoggedOutcomes(count, devices)
    if path.exists():
        read_whole_lines(path, found.take)
    return found


class Journal:
    """Outcomes by queue position, in the file that they were read from and are appended to.

    Args:
        count, devices: as of `LoggedOutcomes`.
        keep_valid: whether lines that cannot be this run's are left out instead of refused.
        timed: whether lines tell when they were written: not of what was measured elsewhere.

    Attributes:
        left_out: what became of lines that were left out, for people; empty if none was.

    Raises:
        InputError: another process has it open, or it is not a journal of such a run.
    """

    def __init__(
        self,
        path: Path,
        count: int,
        devices: Sequence[str] | None,
        *,
        keep_valid: bool = False,
        timed: bool = False,
    ) -> None:
        known = LoggedOutcomes(count, devices)
        self.outcomes = known.outcomes
        self._lines = JsonLinesFile(
            path,
            resume_remedy(path.parent),
            check=known.take,
            keep_valid=keep_valid,
            edited_hint=KEEP_VALID_HINT,
        )
        self._started = time.monotonic() - max(known.elapsed.values(), default=0.0)
        self._timed = timed
        self.left_out = self._lines.skipped_message

    @property
    def seconds(self) -> float:
        """How long the run has worked, all sessions together."""
        return time.monotonic() - self._started

    def append(self, index: int, outcome: Outcome) -> None:
        """Writes one outcome through to the disk.

        Raises:
            WorkError: it could not be written; what was written before is intact.
        """
        record = outcome.to_record(index)
        if self._timed:
            record[ELAPSED] = round(self.seconds, 3)
        self._lines.append(record)
        self.outcomes[index] = outcome

    def close(self) -> None:
        self._lines.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
