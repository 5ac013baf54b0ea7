"""An append-only file of JSON lines: each is on disk before the next is written."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..search import InputError, WorkError


class LineFile:
    """Records in the file that they were read from and are appended to.

    A line that a crash or a full disk cut short is passed over, and overwritten by the next.

    Args:
        remedy: what the user can do when the disk is full.
        anew: whether the first new record replaces all that is there. Until then nothing is lost,
            and only the first is read, so that one can see whose they are.

    Attributes:
        records: all of them, in order.
        torn: what there is beyond whole lines.

    Raises:
        InputError: another process has it open, it cannot be opened, or holds something else.
    """

    def __init__(self, path: Path, remedy: str, *, anew: bool = False) -> None:
        self.path = path
        self._remedy, self._anew = remedy, anew
        if path.exists() and not path.is_file():
            raise InputError(f"cannot write {path}: it is not a regular file", "name another")
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise InputError(
                f"cannot write {path}: {error.strerror}", "see its permissions, or name another"
            ) from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._fd)
            raise InputError(
                f"another process is writing {path}", "wait for it or end it"
            ) from None
        try:
            self.records = self._read()
        except InputError:
            self.close()
            raise

    def append(self, record: Mapping[str, Any]) -> None:
        """Writes one record through to the disk.

        Raises:
            WorkError: it could not be written; what was written before is intact.
        """
        line = (json.dumps(record) + "\n").encode()
        if self._anew:
            self._anew, self._end, self.records = False, 0, []
        try:
            os.ftruncate(self._fd, self._end)
            os.lseek(self._fd, self._end, os.SEEK_SET)
            written = 0
            while written < len(line):
                written += os.write(self._fd, line[written:])
            os.fsync(self._fd)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._end)
            raise WorkError(f"cannot write {self.path}: {error.strerror}", self._remedy) from error
        self._end += len(line)
        self.torn = b""
        self.records.append(dict(record))

    def close(self) -> None:
        os.close(self._fd)

    def _read(self) -> list[dict[str, Any]]:
        data = self.path.read_bytes()
        self._end = data.rfind(b"\n") + 1
        self.torn = data[self._end :]
        whole = data[: self._end]
        return parse_lines(whole[: whole.find(b"\n") + 1] if self._anew else whole, self.path)


def parse_lines(data: bytes, path: Path) -> list[dict[str, Any]]:
    """The records in whole lines.

    Raises:
        InputError: naming the first line that is not one.
    """
    records = []
    for number, line in enumerate(data.splitlines(), 1):
        try:
            record = json.loads(line)
            if not isinstance(record, dict):
                raise ValueError("not an object")
        except (ValueError, RecursionError) as error:
            raise not_ours(path, number, error) from error
        records.append(record)
    return records


def not_ours(path: Path, number: int, error: Exception) -> InputError:
    """A line that this program did not write."""
    return InputError(
        f"{path} line {number} is not what was written there ({error})",
        "start anew with another file; this one was edited",
    )
