"""Files and folders that commands write: checked before work starts, and written whole."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from .output import UsageError


def next_run_folder(stem: str, parent: Path = Path("runs")) -> Path:
    """The next free `runs/<stem>-<n>`; it is not created."""
    pattern = re.compile(re.escape(stem) + r"-(\d+)")
    names = os.listdir(parent) if parent.is_dir() else []
    taken = [int(match[1]) for name in names if (match := pattern.fullmatch(name))]
    return parent / f"{stem}-{max(taken, default=0) + 1}"


def check_new_folder(path: Path, option: str, hint: str = "") -> None:
    """Refuses a folder that holds something or cannot be made, without making it.

    Args:
        hint: what to do if it holds something; by default, to resume the run in it.

    Raises:
        UsageError: naming the option.
    """
    if path.exists() and not path.is_dir():
        raise UsageError(f"{option}: {path} is not a folder", "name a new folder")
    if path.is_dir() and any(path.iterdir()):
        raise UsageError(
            f"{option}: {path} is not empty",
            hint or f"continue it with `tune --resume {path}`, or name a new folder",
        )
    _check_writable(path, option)


def check_new_file(path: Path, option: str) -> None:
    """Refuses a path where no file can be written; its folder must exist.

    Raises:
        UsageError: naming the option.
    """
    if path.is_dir():
        raise UsageError(f"{option}: {path} is a folder", "name a file")
    if not path.parent.is_dir():
        raise UsageError(f"{option}: there is no folder {path.parent}", "make it first")
    _check_writable(path, option)


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Writes a file so that it appears only when it is complete.

    Args:
        path: where the file goes; a file there is replaced.
        write: writes the contents to the path that it is given.

    Raises:
        UsageError: the folder cannot be written to.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    os.close(handle)
    part = Path(name)
    try:
        write(part)
        # mkstemp makes files private; a result has the permissions of any new file.
        mask = os.umask(0)
        os.umask(mask)
        part.chmod(0o666 & ~mask)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _check_writable(path: Path, option: str) -> None:
    folder = path.absolute().parent if path.is_file() else path.absolute()
    while not os.path.lexists(folder):
        folder = folder.parent
    try:
        # Tried, not asked: os.access grants root what the file system will refuse.
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise UsageError(
            f"{option}: cannot write to {folder}: {error.strerror}",
            "name a place that can be written",
        ) from error
