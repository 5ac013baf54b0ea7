"""Files that are read whole, and written whole or not at all."""

from __future__ import annotations

import codecs
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from .errors import InputError, WorkError
from .limits import parse_json, read_limited, remedy_for

Parsed = TypeVar("Parsed")


def read_text_file(path: Path, remedy: str) -> bytes:
    """What is in a file, without the mark that some editors put first: parsers stumble over it."""
    return read_limited(path, remedy).removeprefix(codecs.BOM_UTF8)


def read_json(path: Path, parse: Callable[[Any], Parsed], remedy: str) -> Parsed:
    """What was written to a file as JSON.

    Args:
        parse: makes the value of what JSON holds; whatever it raises, the file was edited.
        remedy: what the user can do then.

    Raises:
        InputError: the file cannot be read, is too large, or holds something else.
    """
    data = read_limited(path, remedy)
    try:
        return parse(parse_json(data))
    except (InputError, ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise InputError(
            f"{path} does not hold what was written there ({error})", remedy_for(error, remedy)
        ) from None


def check_inside(folder: Path, paths: Iterable[Path]) -> None:
    """Refuses places that links within a folder take outside of it.

    Raises:
        InputError: naming the first.
    """
    real = folder.resolve()
    for path in paths:
        if not path.resolve().is_relative_to(real):
            raise InputError(
                f"{path} leads out of {folder}", "replace links by copies, or name another folder"
            )


def check_own(folder: Path) -> None:
    """Refuses a folder with anything but files and folders of its own.

    What is written into it must not end up elsewhere, nor what is elsewhere be taken for its own.
    One that is not there is none of those.

    Raises:
        InputError: naming the first link, device or the like.
    """

    def refuse(error: OSError) -> NoReturn:
        raise InputError(f"cannot read {error.filename}: {error.strerror}", "see its permissions")

    if not folder.is_dir():
        return
    for root, folders, files in os.walk(folder, onerror=refuse):
        for path in (Path(root, name) for name in (*folders, *files)):
            found = path.lstat()
            linked = stat.S_ISREG(found.st_mode) and found.st_nlink > 1
            if linked or not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
                what = "has another name elsewhere" if linked else "is no file of its own"
                raise InputError(
                    f"{path} {what}", "replace links by copies; what is kept here stays here"
                )


@contextmanager
def only_process(folder: Path) -> Iterator[None]:
    """Keeps other processes from working in a folder, as long as this one lives.

    Raises:
        InputError: another one does.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"another process is working in {folder}", "wait for it or end it"
            ) from None
        yield
    finally:
        os.close(handle)


def write_whole(path: Path, data: bytes, remedy: str = "make room, or name another place") -> None:
    """Writes a file that appears only when it is complete and on disk; one there is replaced.

    Several processes may write the same file: the last one's stays.

    Args:
        remedy: what the user can do when it cannot be written.

    Raises:
        WorkError: the disk is full, the folder is gone or the like.
    """
    try:
        handle, name = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name[:50]}.", suffix=".part"
        )
        part = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            # mkstemp makes files private; a result has the permissions of any new file.
            mask = os.umask(0)
            os.umask(mask)
            part.chmod(0o666 & ~mask)
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise WorkError(f"cannot write {path}: {error.strerror}", remedy) from error


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to fill, which is at `path` when it is complete: over an empty one, but no other.

    Raises:
        OSError: it cannot be made.
    """
    partial = path.with_name(f".{path.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        yield partial
        partial.replace(path)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def make_folder(path: Path, remedy: str) -> None:
    """Makes a folder, and those above it, unless it is there.

    Args:
        remedy: what the user can do if it cannot be made.

    Raises:
        InputError: it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {path}: {error.strerror}", remedy) from error


def readable(text: str) -> str:
    """Text that can be written anywhere: the name of a file may be in no encoding at all."""
    return text.encode(errors="backslashreplace").decode()
