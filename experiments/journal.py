"""The append-only log of outcomes: one JSON line each, on disk before the next candidate starts."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from ..benchmarks.lines import LineFile, not_ours
from ..benchmarks.outcome import Outcome, read_record


class Journal:
    """Outcomes by queue position, in the file that they were read from and are appended to.

    Raises:
        InputError: another process has it open, or it is not a journal.
    """

    def __init__(self, path: Path) -> None:
        remedy = f"make room, then continue with --resume {path.parent}"
        self._lines = LineFile(path, remedy)
        self.outcomes: dict[int, Outcome] = {}
        for number, record in enumerate(self._lines.records, 1):
            try:
                index, outcome = read_record(record)
            except (ValueError, TypeError, KeyError) as error:
                self.close()
                raise not_ours(path, number, error) from error
            self.outcomes[index] = outcome

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
