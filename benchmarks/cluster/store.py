"""Executables and weights on a host, by their digests: each travels there once."""

from __future__ import annotations

import hashlib
import shutil
import threading
import time
from collections import OrderedDict
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from ...core import InputError

# Executables take 10 to 500 kB: as many as a long run has. Weights may take more, and half of what
# is free.
LIMIT_BYTES = 1 << 30


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def digest_of_path(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest_in(name: str) -> str:
    """The digest in a name, which says nothing but that and an ending."""
    digest, _, ending = name.partition(".")
    if not digest.isalnum() or not (ending.isalnum() or not ending):
        raise InputError(f"{name!r} is no name of a file", "it is a digest and an ending")
    return digest


class ExecutableStore:
    """Files in a folder, named by their contents; those not used for longest go first.

    Args:
        limit: bytes that they may take together; half of what is free, and 1 GiB at least, if None.
    """

    def __init__(self, folder: Path, limit: int | None = None) -> None:
        self.folder = folder
        self._sizes: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        self._limit = limit or max(LIMIT_BYTES, shutil.disk_usage(folder).free // 2)

    def put(self, name: str, data: bytes, needed: Collection[str] = ()) -> None:
        """Keeps one.

        Args:
            name: its digest, and what its name ended in, which tells of weights what they are.
            needed: names of those that stay: they are used together with it.

        Raises:
            InputError: it is another one than is said.
        """
        if digest_of(data) != _digest_in(name):
            raise InputError(
                f"an executable of {len(data)} bytes is not {name[:16]}", "send it again"
            )
        with self._lock:
            if name not in self._sizes:
                try:
                    (self.folder / name).write_bytes(data)
                except OSError:
                    (self.folder / name).unlink(missing_ok=True)  # there is but a part of it
                    raise
            self._add(name, len(data), needed)

    def put_piece(
        self, sender: str, name: str, data: bytes, offset: int, needed: Collection[str] = ()
    ) -> None:
        """Keeps a piece of a file.

        Args:
            sender: tells files apart that come at the same time.
            name: as of `put`, with its last piece.
            offset: bytes that came before it.
            needed: as of `put`.

        Raises:
            InputError: a piece is missing, or it is another file than is said.
        """
        if not sender.isalnum():
            raise InputError(f"{sender!r} is no sender", "it is made of letters and digits")
        part = self._part(sender)
        if (came := part.stat().st_size if offset else 0) != offset:
            raise InputError(f"{came} bytes of a file came, not {offset}", "send it again")
        try:
            with part.open("ab" if offset else "wb") as file:
                file.write(data)
        except OSError:
            part.unlink(missing_ok=True)
            raise
        if not name:
            return
        if digest_of_path(part) != _digest_in(name):
            part.unlink()
            raise InputError(f"a file that came in pieces is not {name[:16]}", "send it again")
        with self._lock:
            part.replace(self.folder / name)
            self._add(name, (self.folder / name).stat().st_size, needed)

    def forget(self, sender: str) -> None:
        """Lets go of a file of which more is not to come."""
        if sender.isalnum():
            self._part(sender).unlink(missing_ok=True)

    def remove_abandoned(self, seconds: float) -> None:
        """Lets go of files of which nothing has come for so long."""
        for part in self.folder.glob("*.part"):
            with suppress(OSError):  # it is whole since
                if time.time() - part.stat().st_mtime > seconds:
                    part.unlink()

    def _part(self, sender: str) -> Path:
        return self.folder / f"{sender}.part"

    def _add(self, name: str, size: int, needed: Collection[str]) -> None:
        self._sizes[name] = size
        self._sizes.move_to_end(name)
        for old in list(self._sizes):
            if sum(self._sizes.values()) <= self._limit:
                break
            if old != name and old not in needed:
                del self._sizes[old]
                (self.folder / old).unlink(missing_ok=True)

    def get(self, name: str) -> Path | None:
        """Where one is; None if it is not there."""
        with self._lock:
            if name not in self._sizes:
                return None
            self._sizes.move_to_end(name)
            return self.folder / name
