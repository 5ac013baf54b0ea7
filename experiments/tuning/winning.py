"""What a run leaves of its winner: a tuning spec, or an executable where a pipeline makes these."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from ...benchmarks.measuring import MeasuringRunner, Outcome, has_digest
from ...benchmarks.runners import ExecutableRunner
from ...core import InputError, Notify, read_limited, write_atomically
from ...search import Dispatch, spec_of
from ...search.linking import link_specs
from ..interrupted import resume_remedy
from .folder import RunFolder, write_text


class Winning(Protocol):
    """Writes what is left of the winner, and checks what was written.

    Attributes:
        path: the file.
    """

    path: Path

    def spec(self, index: int, comment: str = "") -> str:
        """A candidate's tuning spec; empty where there is none."""

    def write(
        self, index: int, spec: str, runner: MeasuringRunner, outcomes: Mapping[int, Outcome]
    ) -> None:
        """Writes the file.

        Args:
            spec: the candidate's, as it was verified.
        """

    def wrong(self, index: int, outcome: Outcome) -> str:
        """What is wrong with the file if the candidate won, in words; empty if nothing is."""


class WinningSpec:
    """The tuning spec of a configuration."""

    def __init__(
        self, folder: RunFolder, dispatch: Dispatch, render_config: Callable[[int], str]
    ) -> None:
        self.path = folder.spec
        self._dispatch = dispatch
        self._render_config = render_config

    def spec(self, index: int, comment: str = "") -> str:
        return spec_of(self._dispatch, self._render_config(index), comment).text()

    def write(
        self, index: int, spec: str, runner: MeasuringRunner, outcomes: Mapping[int, Outcome]
    ) -> None:
        write_text(self.path, spec)

    def wrong(self, index: int, outcome: Outcome) -> str:
        if not self.path.exists():
            return f"{self.path.name} is missing"
        remedy = "move it away, remove result.json beside it, and resume the run"
        written = read_limited(self.path, remedy).decode(errors="replace")
        due = self.spec(index)
        # A comment says what to expect of it.
        found = "\n".join(s for s in written.splitlines() if not s.lstrip().startswith("//"))
        same = found == due.rstrip("\n") or self._configures(due)
        return "" if same else f"{self.path.name} is not the winner's"

    def _configures(self, due: str) -> bool:
        """Whether the file, of another form in older versions, configures what is due."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "due.mlir"
            path.write_text(due)
            try:
                linked = link_specs([self.path, path])
            except InputError:
                return False
        return (len(linked.matchers), len(linked.dropped), linked.conflicts) == (1, 1, ())


def set_aside(path: Path, notify: Notify) -> None:
    """Renames what an earlier session wrote, where this one found nothing as good beyond noise."""
    if path.exists():
        kept = path.with_stem(f"{path.stem}.earlier")
        path.replace(kept)
        notify(f"nothing is faster beyond noise now; what an earlier session wrote is {kept}")


class WinningExecutable:
    """The executable of an `ExecutablePipeline`, which no spec tells how to make."""

    def __init__(self, folder: RunFolder) -> None:
        self.path = folder.executable

    def spec(self, index: int, comment: str = "") -> str:
        return ""

    def write(
        self, index: int, spec: str, runner: MeasuringRunner, outcomes: Mapping[int, Outcome]
    ) -> None:
        if not isinstance(runner, ExecutableRunner):
            raise InputError("this runner has no executables to keep", "use this machine's")
        built = runner.executables([index], outcomes)[index]
        write_atomically(self.path, built.read_bytes(), resume_remedy(self.path.parent))

    def wrong(self, index: int, outcome: Outcome) -> str:
        same = has_digest(self.path, outcome.executable)
        return "" if same else f"{self.path.name} is not the winner's"
