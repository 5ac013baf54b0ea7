"""Ctrl-C during what can be gone on with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C, after something was kept, or nothing.

    Attributes:
        kept: the folder or file to go on with; None if there is none.
    """

    def __init__(self, kept: Path | None) -> None:
        super().__init__(f"what was done is in {kept}" if kept else "nothing was kept")
        self.kept = kept


@contextmanager
def resumable(folder: Path) -> Iterator[None]:
    """Has Ctrl-C tell which folder to go on in."""
    try:
        yield
    except KeyboardInterrupt:
        raise RunInterrupted(folder) from None
