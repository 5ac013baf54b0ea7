"""Work that can be resumed, and what is told where it ends early."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ..core import ResumableError, WorkError, write_error

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


@dataclass(frozen=True)
class KeptFiles:
    """Files that belong together, and are kept as they were until all of them are replaced.

    Attributes:
        files: and folders, of which the last tells that all are there.
        copies: the folder that keeps them meanwhile.
        remedy: what to do where there is no room.
    """

    files: tuple[Path, ...]
    copies: Path
    remedy: str

    @contextmanager
    def replaced(self) -> Iterator[None]:
        """While they are replaced; all are as they were if that does not come to its end.

        Where the process is killed, `restore` has to be called.

        Raises:
            WorkError: there is no room for copies.
        """
        if self.files[-1].exists():
            new = self.copies.with_suffix(".new")
            shutil.rmtree(new, ignore_errors=True)
            try:
                new.mkdir()
                _copy(self.files, new)
                new.rename(self.copies)
            except OSError as error:
                raise write_error(new, error, self.remedy) from error
            self.files[-1].unlink()
        try:
            yield
        except BaseException:
            with suppress(WorkError):  # the next session does
                self.restore()
            raise
        shutil.rmtree(self.copies, ignore_errors=True)

    def restore(self) -> None:
        """Has the files as they were, if some of them alone were replaced.

        Raises:
            WorkError: there is no room.
        """
        if not self.copies.is_dir():
            return
        if not self.files[-1].exists():
            for file in self.files:
                _remove(file)
            try:
                _copy((self.copies / file.name for file in self.files), self.copies.parent)
            except OSError as error:
                raise write_error(self.files[-1], error, self.remedy) from error
        shutil.rmtree(self.copies, ignore_errors=True)


def _copy(files: Iterable[Path], folder: Path) -> None:
    for file in files:
        if file.is_dir():
            shutil.copytree(file, folder / file.name)
        elif file.exists():
            shutil.copyfile(file, folder / file.name)


def _remove(file: Path) -> None:
    shutil.rmtree(file, ignore_errors=True)
    with suppress(OSError):
        file.unlink()


@contextmanager
def resumable(
    folder: Path, *, by_option: bool = False, minutes: float | None = None
) -> Iterator[None]:
    """Has what ends work from outside name the folder to go on in; Ctrl-C is a `RunInterrupted`.

    Args:
        by_option: whether the command goes on there with `--resume`.
        minutes: that have to be given again.
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
            go_on += "" if minutes is None else f" --minutes {minutes:g}"
            error.hint = f"{known}; {go_on}" if known else go_on
        raise
