"""Ctrl-C during work that can be resumed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C, and what was kept of the work.

    Attributes:
        kept: the folder or file with which the work can be resumed; None if nothing was kept.
    """

    def __init__(self, kept: Path | None) -> None:
        super().__init__(f"what was done is in {kept}" if kept else "nothing was kept")
        self.kept = kept


@contextmanager
def resumable(folder: Path) -> Iterator[None]:
    """Turns Ctrl-C into `RunInterrupted`, which names the folder to go on in."""
    try:
        yield
    except KeyboardInterrupt:
        raise RunInterrupted(folder) from None
