"""A small disk for a folder, which can be full."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

SIZE = "64m"
_BALLAST = "ballast"
_CHUNK = bytes(1 << 16)


def can_mount() -> bool:
    """Whether this process may mount file systems."""
    with tempfile.TemporaryDirectory() as name:
        mounted = _mount(Path(name))
        if mounted:
            unmount(Path(name))
        return mounted


def mount(folder: Path) -> None:
    """Puts a small disk at an empty folder.

    Raises:
        OSError: it may not be mounted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not _mount(folder):
        raise PermissionError(f"no disk can be mounted at {folder}")


def unmount(folder: Path) -> None:
    """Takes the disk away, with all that is on it, also from whoever works there."""
    subprocess.run(["umount", "--lazy", folder], check=True, capture_output=True)


@contextlib.contextmanager
def full(folder: Path) -> Iterator[None]:
    """Fills a folder's disk to the last byte, for a while."""
    ballast = folder / _BALLAST
    try:
        with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(_CHUNK)
        with contextlib.suppress(OSError), ballast.open("ab", buffering=0) as file:
            while True:
                file.write(b"0" * 64)
        yield
    finally:
        ballast.unlink(missing_ok=True)


def _mount(folder: Path) -> bool:
    line = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "frontrunner-chaos", str(folder)]
    try:
        return subprocess.run(line, capture_output=True).returncode == 0
    except OSError:
        return False
