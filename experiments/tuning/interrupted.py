"""Ctrl-C during what can be gone on with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C, after a run's folder was laid out.

    Attributes:
        folder: where to go on.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder


@contextmanager
def resumable(folder: Path) -> Iterator[None]:
    """Has Ctrl-C tell which folder to go on in."""
    try:
        yield
    except KeyboardInterrupt:
        raise RunInterrupted(folder) from None
