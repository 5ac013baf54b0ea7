"""The append-only log of outcomes: one JSON line each, on disk before the next candidate starts."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from pathlib import Path
from typing import Any, Self

from ..benchmarks.outcome import Outcome
from ..search import InputError, WorkError


class Journal:
    """Outcomes by queue position, in the file that they were read from and are appended to.

    A line that a crash or a full disk cut short is dropped when the journal is opened again.

    Raises:
        InputError: another process has it open, or it is not a journal.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._fd)
            raise InputError(
                f"another process is working in {path.parent}", "wait for it or end it"
            ) from None
        try:
            self.outcomes = self._read()
        except InputError:
            self.close()
            raise

    def append(self, index: int, outcome: Outcome) -> None:
        """Writes one outcome through to the disk.

        Raises:
            WorkError: it could not be written; what was written before is intact.
        """
        line = (json.dumps({"index": index, **outcome.to_dict()}) + "\n").encode()
        end = os.lseek(self._fd, 0, os.SEEK_END)
        try:
            written = 0
            while written < len(line):
                written += os.write(self._fd, line[written:])
            os.fsync(self._fd)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, end)
            raise WorkError(
                f"cannot write {self.path}: {error.strerror}",
                f"make room, then continue with --resume {self.path.parent}",
            ) from error
        self.outcomes[index] = outcome

    def close(self) -> None:
        os.close(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> dict[int, Outcome]:
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.ftruncate(self._fd, whole)
        outcomes: dict[int, Outcome] = {}
        for number, line in enumerate(data[:whole].splitlines(), 1):
            try:
                fields: dict[str, Any] = json.loads(line)
                index = int(fields.pop("index"))
                outcomes[index] = Outcome(**fields)
            except (ValueError, TypeError, KeyError) as error:
                raise InputError(
                    f"{self.path} line {number} is not an outcome ({error})",
                    "start a new run; this folder was edited",
                ) from error
        return outcomes
