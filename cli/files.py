"""Files and folders that commands write, checked before work starts."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ..core import RUNS_FOLDER, remove_drafts
from .output import UsageError

# Of a file, at both of its ends.
_LOOKED = 1 << 16


def check_out(out: Path | None, hint: str) -> None:
    """Refuses a place where no run's folder can be laid out.

    Args:
        out: what `--out` names; None for the next free folder among the runs.
        hint: what to do if it holds something.

    Raises:
        UsageError: naming the option.
    """
    if out is not None:
        check_new_folder(out, "--out", hint)
    elif os.path.lexists(RUNS_FOLDER) and not os.path.isdir(RUNS_FOLDER):
        raise UsageError(f"{RUNS_FOLDER} is not a folder", "name another with --out")
    else:
        check_writable(RUNS_FOLDER, "--out")


def check_new_folder(path: Path, option: str, hint: str) -> None:
    """Refuses a folder that holds something or cannot be made, without making it.

    Args:
        hint: what to do if it holds something.

    Raises:
        UsageError: naming the option.
    """
    if os.path.exists(path) and not os.path.isdir(path):
        raise UsageError(f"{option}: {path} is not a folder", "name a new folder")
    if os.path.isdir(path):
        remove_drafts(path)
        if any(path.iterdir()):
            raise UsageError(f"{option}: {path} is not empty", hint)
    check_writable(path, option)


def check_new_file(path: Path, option: str) -> None:
    """Refuses a path where no file can be written; its folder must exist.

    Raises:
        UsageError: naming the option.
    """
    if os.path.isdir(path):
        raise UsageError(f"{option}: {path} is a folder", "name a file")
    if os.path.lexists(path) and not os.path.isfile(path):
        raise UsageError(f"{option}: {path} is not a regular file", "name another")
    if not os.path.isdir(path.parent):
        raise UsageError(f"{option}: there is no folder {path.parent}", "make it first")
    check_writable(path, option)


def check_replaceable(path: Path, option: str, mark: bytes, what: str) -> None:
    """Refuses to replace a file of another kind, as `check_new_file` refuses what is no file.

    Args:
        mark: what each file of the kind has near its beginning or its end.
        what: the kind, in words.

    Raises:
        UsageError: naming the option.
    """
    check_new_file(path, option)
    if not os.path.isfile(path) or not (size := path.stat().st_size):
        return
    try:
        with path.open("rb") as file:
            looked = file.read(_LOOKED)
            file.seek(max(0, size - _LOOKED))
            looked += file.read(_LOOKED)
    except OSError as error:
        raise UsageError(
            f"{option}: cannot read {path}: {error.strerror}", "name another"
        ) from None
    if mark not in looked:
        raise UsageError(
            f"{option}: {path} is no {what}, so it is not replaced", "name another file, or move it"
        )


def check_writable(path: Path, option: str) -> None:
    """Refuses a place where nothing can be written, without writing anything that stays.

    Raises:
        UsageError: naming the option.
    """
    folder = path.absolute().parent if os.path.isfile(path) else path.absolute()
    try:
        while not _is_there(folder):
            folder = folder.parent
        # Tried, not asked: os.access grants root what the file system will refuse.
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise UsageError(
            f"{option}: cannot write to {folder}: {error.strerror}",
            "name a place that can be written",
        ) from error


def _is_there(path: Path) -> bool:
    """Whether something has this name.

    Raises:
        OSError: nobody can look, or the name is too long for anything to have it.
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
