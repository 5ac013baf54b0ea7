"""One folder for the temporary files of a process and its children.

Compilers that are killed leave what they were linking, and a process that is killed leaves all of
it. So each process has a folder `frontrunner-UID/<process>-<random>` where temporary files go,
removes it at its end, and first those of processes that were killed.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from .claims import claim, remove, remove_abandoned
from .errors import NoRoomError

# How often to try to work beside others that come and go.
TRIES = 10
# An executable and the objects that it is linked from take a few hundred kilobytes.
MIN_FREE_BYTES = 4 << 20


@dataclass(frozen=True)
class _ProcessFolder:
    """The folder of a process.

    Attributes:
        process: whose it is: a fork has one of its own.
        handle: claims it; None where files go into the folder of all.
    """

    process: int
    path: Path
    handle: int | None


_lock = threading.Lock()
_own: _ProcessFolder | None = None


def temporary_folder() -> Path:
    """This process's folder, which is made when it is first asked for.

    Raises:
        OSError: there is no place for temporary files.
    """
    return _owned().path


@contextmanager
def in_temporary_folder() -> Iterator[None]:
    """Has all temporary files of this process go into its folder, which is removed at the end."""
    before, made = tempfile.tempdir, _own is None
    with suppress(OSError):  # commands that need none can do without
        tempfile.tempdir = str(temporary_folder())
    try:
        yield
    finally:
        tempfile.tempdir = before
        if made:
            remove_temporary_folder()


def remove_temporary_folder() -> None:
    """Removes the folder; if there is need for one again, there will be another."""
    global _own
    own, _own = _own, None
    if own is not None and own.handle is not None and own.process == os.getpid():
        remove(own.path)
        os.close(own.handle)
        with suppress(OSError):  # others work there
            own.path.parent.rmdir()


def _owned() -> _ProcessFolder:
    global _own
    with _lock:
        if _own is None or _own.process != os.getpid():
            _own = _make(Path(tempfile.gettempdir()))
        return _own


def _make(base: Path) -> _ProcessFolder:
    process = os.getpid()
    for _ in range(TRIES):
        try:
            parent = _private(base / f"frontrunner-{os.getuid()}")
            remove_abandoned(parent.iterdir())
            path, handle = claim(partial(_new, process, parent))
            return _ProcessFolder(process, path, handle)
        except FileNotFoundError:
            continue  # the last process that worked in the parent has just removed it
        except OSError:
            break
    return _ProcessFolder(process, base, None)


def _new(process: int, parent: Path) -> Path:
    return Path(tempfile.mkdtemp(prefix=f"{process}-", dir=parent))


def _private(path: Path) -> Path:
    """A folder that only this user can reach.

    Raises:
        OSError: it cannot be made, or somebody else made it: all may write where it is.
    """
    path.mkdir(0o700, exist_ok=True)
    found = path.lstat()
    if (stat.S_IFMT(found.st_mode), found.st_uid) != (stat.S_IFDIR, os.getuid()):
        raise PermissionError(f"{path} is somebody else's")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise PermissionError(f"{path} is open to others")
    return path


def check_free_space(executables: Path | None = None) -> None:
    """Tells a full disk from a compiler's crash.

    Args:
        executables: the folder that they go to; None where there are none.

    Raises:
        NoRoomError: that folder is full, or that for temporary files.
    """
    folder = Path(tempfile.gettempdir())
    if _is_full(folder):
        raise NoRoomError(
            f"there is no room for temporary files in {folder}",
            "make room there, or name another folder in TMPDIR; what was measured is kept",
        )
    if executables is not None and _is_full(executables):
        raise NoRoomError(
            f"there is no room for executables in {executables}",
            "make room there; what was measured is kept",
        )


def _is_full(folder: Path) -> bool:
    return shutil.disk_usage(folder).free < MIN_FREE_BYTES


atexit.register(remove_temporary_folder)
