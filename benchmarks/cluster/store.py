"""Executables on a host, by their digests: each travels there once."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from pathlib import Path

from ...core import InputError

# Executables take 10 to 500 kB: as many as a long run has.
LIMIT_BYTES = 1 << 30


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class ExecutableStore:
    """Files in a folder, named by their contents; those not used for longest go first.

    Args:
        limit: bytes that they may take together.
    """

    def __init__(self, folder: Path, limit: int = LIMIT_BYTES) -> None:
        self.folder = folder
        self._limit = limit
        self._sizes: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)

    def put(self, digest: str, data: bytes) -> None:
        """Keeps one.

        Raises:
            InputError: it is another one than is said.
        """
        if digest_of(data) != digest:
            raise InputError(
                f"an executable of {len(data)} bytes is not {digest[:16]}", "send it again"
            )
        with self._lock:
            if digest not in self._sizes:
                (self.folder / digest).write_bytes(data)
            self._sizes[digest] = len(data)
            self._sizes.move_to_end(digest)
            while sum(self._sizes.values()) > self._limit and len(self._sizes) > 1:
                gone, _ = self._sizes.popitem(last=False)
                (self.folder / gone).unlink(missing_ok=True)

    def get(self, digest: str) -> Path | None:
        """Where one is; None if it is not there."""
        with self._lock:
            if digest not in self._sizes:
                return None
            self._sizes.move_to_end(digest)
            return self.folder / digest
