"""Work that can be resumed, and what is told where it ends early."""

from __future__ import annotations

import shlex
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


def resume_remedy(folder: Path) -> str:
    """What to do where there was no room to write what a folder holds."""
    return f"make room, then continue with --resume {shlex.quote(str(folder))}"


@contextmanager
def resumable(folder: Path) -> Iterator[None]:
    """Turns Ctrl-C into `RunInterrupted`, which names the folder to go on in."""
    try:
        yield
    except KeyboardInterrupt:
        raise RunInterrupted(folder) from None
