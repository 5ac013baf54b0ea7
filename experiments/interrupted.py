"""Work that can be resumed, and what is told where it ends early."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..core import ResumableError

_GO_ON = "continue with --resume "


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
    return f"make room; {_GO_ON}{shlex.quote(str(folder))}"


@contextmanager
def resumable(folder: Path, *, by_option: bool = False) -> Iterator[None]:
    """Has what ends work from outside name the folder to go on in; Ctrl-C is a `RunInterrupted`.

    Args:
        by_option: whether the command goes on there with `--resume`.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise RunInterrupted(folder) from None
    except ResumableError as error:
        if by_option:
            # A run that is part of this one has named its own.
            known = error.hint.partition(_GO_ON)[0].removesuffix("; ")
            go_on = f"{_GO_ON}{shlex.quote(str(folder))}"
            error.hint = f"{known}; {go_on}" if known else go_on
        raise
