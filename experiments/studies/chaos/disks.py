"""A small disk for a folder, which can be full."""

from __future__ import annotations

import contextlib
import ctypes
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

SIZE = "64m"
_BALLAST = "ballast"
_OWN_MOUNTS = 0x20000  # CLONE_NEWNS
_CHUNK = bytes(1 << 16)


def can_mount() -> bool:
    """Whether this process may mount file systems; which from now on go when it does."""
    if ctypes.CDLL(None).unshare(_OWN_MOUNTS):
        return False
    try:
        subprocess.run(["mount", "--make-rprivate", "/"], check=True, capture_output=True)
        with tempfile.TemporaryDirectory() as name:
            mount(Path(name))
            unmount(Path(name))
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def mount(folder: Path) -> None:
    """Puts a small disk at an empty folder.

    Raises:
        OSError, subprocess.CalledProcessError: it may not be mounted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    line = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "frontrunner-chaos", str(folder)]
    subprocess.run(line, check=True, capture_output=True)


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
