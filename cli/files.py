"""Files and folders that commands write, checked before work starts."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .output import UsageError


def next_run_folder(stem: str, parent: Path = Path("runs")) -> Path:
    """The next free `runs/<stem>-<n>`; it is not created."""
    pattern = re.compile(re.escape(stem) + r"-(\d+)")
    names = os.listdir(parent) if parent.is_dir() else []
    taken = [int(match[1]) for name in names if (match := pattern.fullmatch(name))]
    return parent / f"{stem}-{max(taken, default=0) + 1}"


@contextmanager
def new_run_folder(stem: str, parent: Path = Path("runs")) -> Iterator[Path]:
    """Makes the next free `runs/<stem>-<n>`, so that nothing else takes it meanwhile.

    If nothing has been put into it, it is removed again.

    Raises:
        UsageError: it cannot be made.
    """
    fresh = not parent.exists()
    while True:
        folder = next_run_folder(stem, parent)
        try:
            folder.mkdir(parents=True)
            break
        except FileExistsError:
            if not parent.is_dir():
                raise UsageError(f"{parent} is not a folder", "name another with --out") from None
        except OSError as error:
            raise UsageError(
                f"cannot write to {parent}: {error.strerror}", "name another folder with --out"
            ) from None
    try:
        yield folder
    finally:
        with suppress(OSError):
            folder.rmdir()
            if fresh:
                parent.rmdir()


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
    check_writable(path, option)


def check_new_file(path: Path, option: str) -> None:
    """Refuses a path where no file can be written; its folder must exist.

    Raises:
        UsageError: naming the option.
    """
    if path.is_dir():
        raise UsageError(f"{option}: {path} is a folder", "name a file")
    if os.path.lexists(path) and not path.is_file():
        raise UsageError(f"{option}: {path} is not a regular file", "name another")
    if not path.parent.is_dir():
        raise UsageError(f"{option}: there is no folder {path.parent}", "make it first")
    check_writable(path, option)


def check_writable(path: Path, option: str) -> None:
    """Refuses a place where nothing can be written, without writing anything that stays.

    Raises:
        UsageError: naming the option.
    """
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
