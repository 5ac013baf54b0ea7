"""The append-only log of outcomes: one JSON line each, on disk before the next candidate starts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from ...benchmarks.measuring import Outcome, outcome_error, parse_outcome
from ...core import KEEP_VALID_HINT, JsonLinesFile


class Journal:
    """Outcomes by queue position, in the file that they were read from and are appended to.

    Args:
        count: candidates in the queue.
        devices: names of what they are measured on; none if nothing is measured, None if they
            come and go.
        keep_valid: whether lines that cannot be this run's are left out instead of refused.

    Attributes:
        left_out: what became of lines that were left out, for people; empty if none was.

    Raises:
        InputError: another process has it open, or it is not a journal of such a run.
    """

    def __init__(
        self, path: Path, count: int, devices: Sequence[str] | None, *, keep_valid: bool = False
    ) -> None:
        self.outcomes: dict[int, Outcome] = {}

        def check(record: dict[str, Any]) -> None:
            index, outcome = parse_outcome(record)
            if wrong := outcome_error(index, outcome, self.outcomes, count, devices):
                raise ValueError(wrong)
            self.outcomes[index] = outcome

        self._lines = JsonLinesFile(
            path,
            f"make room, then continue with --resume {path.parent}",
            check=check,
            keep_valid=keep_valid,
            edited_hint=KEEP_VALID_HINT,
        )
        self.left_out = self._lines.skipped_message

    def append(self, index: int, outcome: Outcome) -> None:
        """Writes one outcome through to the disk.

        Raises:
            WorkError: it could not be written; what was written before is intact.
        """
        self._lines.append(outcome.to_record(index))
        self.outcomes[index] = outcome

    def close(self) -> None:
        self._lines.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
