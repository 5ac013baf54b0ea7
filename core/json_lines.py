"""An append-only file of JSON lines: each is on disk before the next is written."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .claims import is_at, lock
from .decoding import describe_error
from .errors import InputError, WorkError
from .files import write_error
from .limits import check_regular, parse_json, read_limited

KEEP_VALID_HINT = "keep the valid lines with --keep-valid, or start anew"
_ANEW = "start anew with another file; this one was edited"

Record = dict[str, Any]


def _any(record: Record) -> None:
    pass


class JsonLinesFile:
    """An append-only JSON-lines file, and the records that it holds already.

    A line that a crash or a full disk cut short is passed over, and overwritten by the next.

    Args:
        remedy: what the user can do when the disk is full.
        overwrite: whether the first appended record replaces what is in the file. Until then the
            file stays as it is, and only its first record is read, which says whose they are.
        check: raises ValueError, TypeError or KeyError for a record that was not written here.
        keep_valid: whether such lines are left out instead of refused; the file as it was stays
            beside it.
        edited_hint: what the user can do about a line that was not written here.

    Attributes:
        records: all of them, in order.
        partial_line: the bytes after the last newline, left by a crash.
        skipped_message: message for the user about lines that were skipped and where the file was
            copied to; empty if none were.

    Raises:
        InputError: another process has it open, it cannot be opened, or holds something else.
    """

    def __init__(
        self,
        path: Path,
        remedy: str,
        *,
        overwrite: bool = False,
        check: Callable[[Record], object] = _any,
        keep_valid: bool = False,
        edited_hint: str = _ANEW,
    ) -> None:
        self.path = path
        self.skipped_message = ""
        self._remedy, self._anew = remedy, overwrite
        self._fd = _open(path)
        try:
            data = read_limited(path)
            self._end = data.rfind(b"\n") + 1
            self.partial_line = data[self._end :]
            whole = data[: self._end]
            if overwrite:
                whole = whole[: whole.find(b"\n") + 1]
            self.records, wrong = _parse_lines(whole, path, check, keep_valid, edited_hint)
            if wrong:
                self._leave_out(wrong, data)
        except BaseException:
            self.close()
            raise

    def append(self, record: Mapping[str, Any]) -> None:
        """Writes one record through to the disk.

        Raises:
            WorkError: it could not be written; what was written before is intact.
        """
        if self._anew:
            self._anew, self._end, self.records = False, 0, []
        self._write((json.dumps(record) + "\n").encode())
        self.partial_line = b""
        self.records.append(dict(record))

    def close(self) -> None:
        os.close(self._fd)

    def _write(self, data: bytes) -> None:
        """Writes after the last whole line."""
        try:
            os.ftruncate(self._fd, self._end)
            os.lseek(self._fd, self._end, os.SEEK_SET)
            written = 0
            while written < len(data):
                written += os.write(self._fd, data[written:])
            os.fsync(self._fd)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._end)
            raise write_error(self.path, error, self._remedy) from error
        self._end += len(data)

    def _leave_out(self, wrong: dict[int, str], data: bytes) -> None:
        """Keeps the valid lines, in the same file, for others may wait for its lock.

        Args:
            wrong: what is wrong with lines, by their numbers.
            data: all that is in the file.
        """
        number = 1
        while True:
            copy = self.path.with_name(f"{self.path.name}.damaged-{number}")
            try:
                with copy.open("xb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                break
            except FileExistsError:
                number += 1
            except OSError as error:
                raise write_error(copy, error, self._remedy) from error
        before = min(wrong) - 1
        self._end = sum(map(len, data.splitlines(keepends=True)[:before]))
        kept = [json.dumps(record) + "\n" for record in self.records[before:]]
        try:
            self._write("".join(kept).encode())
        except WorkError as error:
            raise type(error)(f"{error}; as it was, it is {copy.name}", error.hint) from error
        lines = "1 line" if len(wrong) == 1 else f"{len(wrong)} lines"
        self.skipped_message = (
            f"{lines} of {self.path} left out, the first: {wrong[before + 1]}; "
            f"as it was, it is {copy.name}"
        )


def read_whole_lines(
    path: Path,
    check: Callable[[Record], object] = _any,
    keep_valid: bool = False,
    edited_hint: str = _ANEW,
    remedy: str = "",
) -> tuple[list[Record], list[str]]:
    """What is in such a file, which may be written to meanwhile: a last line may not be whole.

    Args:
        check, keep_valid, edited_hint: as of `JsonLinesFile`.
        remedy: what the user can do where it cannot be read.

    Returns:
        The valid records, and an error for each line that is skipped.

    Raises:
        InputError: it cannot be read, or naming the first line that is no record.
    """
    data = read_limited(path, remedy)
    whole = data[: data.rfind(b"\n") + 1]
    records, wrong = _parse_lines(whole, path, check, keep_valid, edited_hint)
    return records, list(wrong.values())


def _parse_lines(
    data: bytes,
    path: Path,
    check: Callable[[Record], object] = _any,
    keep_valid: bool = False,
    edited_hint: str = _ANEW,
) -> tuple[list[Record], dict[int, str]]:
    """Parses lines of JSON: the valid records, and what is wrong with others, by their numbers.

    Args:
        check, keep_valid, edited_hint: as of `JsonLinesFile`.

    Raises:
        InputError: naming the first line that is not one.
    """
    records: list[Record] = []
    wrong: dict[int, str] = {}
    for number, line in enumerate(data.splitlines(), 1):
        try:
            record = parse_json(line)
            if not isinstance(record, dict):
                raise ValueError("it is no object")
            check(record)
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            what = f"line {number} is not what was written there ({describe_error(error)})"
            if not keep_valid:
                raise InputError(f"{path} {what}", edited_hint) from error
            wrong[number] = what
        else:
            records.append(record)
    return records, wrong


def _open(path: Path) -> int:
    """A file to append to, which no other process has."""
    check_regular(path, "name another")
    try:
        # What is appended is to end up here, not in a file that somebody else chose.
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        why = "it is a symbolic link" if path.is_symlink() else error.strerror
        raise InputError(
            f"cannot write {path}: {why}", "see its permissions, or name another"
        ) from error
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            raise InputError(
                f"cannot write {path}: it has another name elsewhere", "copy it, or name another"
            )
        # Whoever had it open until now may have removed it.
        if lock(handle) is False or not is_at(path.resolve(), handle):
            raise InputError(f"another process is writing {path}", "wait for it or end it")
    except BaseException:
        os.close(handle)
        raise
    return handle
