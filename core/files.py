"""Files that are read whole, and written whole or not at all."""

from __future__ import annotations

import codecs
import errno
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from .claims import claim, is_at, lock, remove, remove_abandoned
from .errors import InputError, NoRoomError, WorkError
from .limits import parse_json, read_limited, remedy_for

Parsed = TypeVar("Parsed")

# Where the folders of runs go, unless another place is named.
RUNS_FOLDER = Path("runs")
# What is not complete yet, beside the place where it will be.
_DRAFT = re.compile(r"\..*\.frontrunner-[0-9a-f]{8}")


def read_without_bom(path: Path, remedy: str) -> bytes:
    """Reads a file's bytes without a UTF-8 byte-order mark, which parsers do not accept."""
    return read_limited(path, remedy).removeprefix(codecs.BOM_UTF8)


def read_json(path: Path, parse: Callable[[Any], Parsed], remedy: str) -> Parsed:
    """Reads a JSON file that frontrunner wrote, and parses its content into a value.

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
    """Raises if a symbolic link makes one of the paths lead out of the folder.

    Raises:
        InputError: naming the first.
    """
    # Not `Path.resolve`, which raises on links that lead to themselves.
    real = os.path.realpath(folder)
    for path in paths:
        if not Path(os.path.realpath(path)).is_relative_to(real):
            raise InputError(
                f"{path} leads out of {folder}", "replace links by copies, or name another folder"
            )


def check_no_links(folder: Path) -> None:
    """Raises if a folder holds links, devices or sockets, which lead elsewhere; it may be missing.

    What is written into it must not end up elsewhere, nor what is elsewhere be taken for its own.
    What is not there is none of those, also if who works in it removes it meanwhile.

    Raises:
        InputError: naming the first link, device or the like, or what cannot be looked at.
    """

    def refuse(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            told = f"cannot read {error.filename}: {error.strerror}"
            raise InputError(told, "see its permissions")

    if not folder.is_dir():
        return
    for root, folders, files in os.walk(folder, onerror=refuse):
        for path in (Path(root, name) for name in (*folders, *files)):
            try:
                found = path.lstat()
            except OSError as error:
                refuse(error)
                continue
            linked = stat.S_ISREG(found.st_mode) and found.st_nlink > 1
            if linked or not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
                what = "has another name elsewhere" if linked else "is no file of its own"
                raise InputError(
                    f"{path} {what}", "replace links by copies; what is kept here stays here"
                )


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Keeps other processes from working in a folder, as long as this one lives.

    Raises:
        InputError: another one does.
    """
    taken = InputError(f"another process is working in {folder}", "wait for it or end it")
    try:
        handle = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        raise taken from None  # which was done with it, and has removed it
    try:
        if lock(handle) is False or not is_at(folder.resolve(), handle):
            raise taken
        yield
    finally:
        os.close(handle)


def write_atomically(
    path: Path, data: bytes, remedy: str = "make room, or name another place"
) -> None:
    """Writes a file that appears only when it is complete and on disk; one there is replaced.

    Several processes may write the same file: the last one's stays.

    Args:
        remedy: what the user can do when it cannot be written.

    Raises:
        WorkError: the disk is full, the folder is gone or the like.
    """

    def make(draft: Path) -> None:
        draft.open("xb").close()

    try:
        with _draft(path.parent, path.name, make) as draft:
            with draft.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
    except OSError as error:
        raise write_error(path, error, remedy) from error


def write_error(path: Path, error: OSError, remedy: str) -> WorkError:
    """What is told of a file that cannot be written.

    Args:
        remedy: what the user can do.
    """
    kind = NoRoomError if is_full(error) else WorkError
    return kind(f"cannot write {path}: {error.strerror}", remedy)


def is_full(error: OSError) -> bool:
    """Whether nothing could be written since a disk is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yields a temporary folder, which is renamed to `path` at the end.

    `path` must be missing or an empty folder.

    Raises:
        OSError: it cannot be made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # One that is there may be the current folder, or all that can be written to.
    inside = path.is_dir()
    with _draft(path if inside else path.parent, path.name, Path.mkdir) as draft:
        yield draft
        if inside:
            _move_out(draft, path)
        else:
            draft.rename(path)


def make_numbered_folder(parent: Path, stem: str, fill: Callable[[Path], None]) -> Path:
    """Creates `<stem>-<n>` with the next free number, safely if several processes do so at once.

    Args:
        fill: writes the content; gets the temporary folder, which is renamed afterwards.

    Returns:
        Where it is.

    Raises:
        OSError: it cannot be made.
    """
    fresh = not parent.exists()
    parent.mkdir(parents=True, exist_ok=True)
    try:
        with _draft(parent, stem, Path.mkdir) as draft:
            fill(draft)
            return _rename_to_next(draft, parent, stem)
    except BaseException:
        if fresh:
            with suppress(OSError):  # another process has put something there
                parent.rmdir()
        raise


def make_output_folder(path: Path | None, stem: str, fill: Callable[[Path], None]) -> Path:
    """As `atomic_folder`, or, if there is no path, as `make_numbered_folder` in `RUNS_FOLDER`.

    Of a stem that is not UTF-8, such characters are replaced.
    """
    if path is None:
        readable = os.fsencode(stem).decode(errors="replace")
        return make_numbered_folder(RUNS_FOLDER, readable, fill)
    with atomic_folder(path) as folder:
        fill(folder)
    return path


def check_utf_8(path: Path | None) -> None:
    """Refuses a path that the compiler could not be given.

    Raises:
        InputError: it is not UTF-8.
    """
    if path is not None and not is_utf_8(str(path)):
        raise InputError(f"{path} is not UTF-8", "name a place that is, or rename the input")


def is_draft(name: str) -> bool:
    """Whether a file or folder of this name is one that was not complete yet."""
    return _DRAFT.fullmatch(name) is not None


def remove_drafts(folder: Path) -> None:
    """Removes what processes that were killed have left half done in a folder."""
    with suppress(OSError):  # it may be written to by those who cannot list it
        names = os.listdir(folder)
        remove_abandoned(folder / name for name in names if is_draft(name))


@contextmanager
def _draft(folder: Path, name: str, make: Callable[[Path], None]) -> Iterator[Path]:
    """A temporary file or folder of a unique name, removed at the end unless it was renamed."""

    def draft() -> Path:
        path = folder / f".{name[:50]}.frontrunner-{secrets.token_hex(4)}"
        make(path)
        return path

    remove_drafts(folder)
    path, handle = claim(draft)
    try:
        yield path
    finally:
        remove(path)
        os.close(handle)


def _move_out(draft: Path, folder: Path) -> None:
    """Moves what is in a draft to the folder that it is in, unless there is something already."""
    with lock_folder(folder):
        if not all(is_draft(name) for name in os.listdir(folder)):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY))
        for path in sorted(draft.iterdir()):
            path.rename(folder / path.name)


def _rename_to_next(draft: Path, parent: Path, stem: str) -> Path:
    """Renames a folder to the first `<stem>-<n>` that nothing has been put into."""
    pattern = re.compile(re.escape(stem) + r"-(\d+)")
    while True:
        taken = [int(match[1]) for n in os.listdir(parent) if (match := pattern.fullmatch(n))]
        path = parent / f"{stem}-{max(taken, default=0) + 1}"
        try:
            return draft.rename(path)
        except OSError as error:
            # Another process has taken it in this very moment.
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise


def make_folder(path: Path, remedy: str) -> None:
    """Makes a folder, and those above it, unless it is there.

    Args:
        remedy: what the user can do if it cannot be made.

    Raises:
        InputError: it cannot be made.
        NoRoomError: the disk is full.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        kind, hint = (NoRoomError, "make room") if is_full(error) else (InputError, remedy)
        raise kind(f"cannot make the folder {path}: {error.strerror}", hint) from error


def escape_undecodable(text: str) -> str:
    """Escapes characters that UTF-8 cannot encode, which undecodable file names hold."""
    return text.encode(errors="backslashreplace").decode()


def is_utf_8(text: str) -> bool:
    """Whether UTF-8 can encode all characters of a text."""
    return escape_undecodable(text) == text
