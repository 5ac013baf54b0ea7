"""Files and folders that are one process's own as long as it lives.

Each is locked by its maker. The system drops the lock when the maker ends, however it ends, so that
whoever comes next can tell what is abandoned, and remove it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path


def claim(make: Callable[[], Path]) -> tuple[Path, int]:
    """Creates a file or folder and locks it, so that no other process removes it as abandoned.

    Args:
        make: makes it, under a name that is not taken; it may be called more than once.

    Returns:
        Its path, and a handle: it is claimed until that is closed.

    Raises:
        OSError: it cannot be made.
    """
    while True:
        path = make()
        # Between these two lines, another process may have found it abandoned.
        with suppress(FileNotFoundError):
            handle = os.open(path, os.O_RDONLY)
            if lock(handle) is not False and is_at(path, handle):
                return path, handle
            os.close(handle)


def remove_abandoned(paths: Iterable[Path]) -> None:
    """Removes those files and folders whose makers are gone; what cannot be removed stays."""
    for path in paths:
        with suppress(OSError):
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                # It may have become a result meanwhile, and have another name.
                if lock(handle) and is_at(path, handle):
                    remove(path)
            finally:
                os.close(handle)


def remove(path: Path) -> None:
    """Removes a file, or a folder with all that is in it, as far as that is possible."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def is_at(path: Path, handle: int) -> bool:
    """Whether an open file or folder is still what is at a path."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(handle))
    except FileNotFoundError:
        return False


def lock(handle: int) -> bool | None:
    """Locks it; False if another process has, None where nothing can be locked."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
