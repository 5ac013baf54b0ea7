"""Runners turn candidates into outcomes: compile, verify, measure."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from ...search import Dispatch, spec_of
from ..compiling import Compiler, call_of, keep_log
from ..measuring import BASELINE_SECONDS, Compiled, Device, Measuring, Outcome


@dataclass(frozen=True)
class Candidate:
    """A queue entry: its position and its `compilation_info`."""

    index: int
    config: str


class Runner(Protocol):
    """Whatever can say what becomes of candidates: this machine, another one, a recording."""

    def run(
        self, batch: Sequence[Candidate], go_on: Callable[[], bool] = ...
    ) -> Iterator[tuple[Candidate, Outcome]]:
        """Yields each candidate's outcome as soon as it is known, until `go_on` says no."""


class LocalRunner:
    """Runs candidates on this machine.

    A batch is compiled on all cores first and measured afterwards, with nothing else running.
    Identical executables are measured once per device.

    Args:
        devices: started devices; candidates take turns on them.
        baseline: the compiler's default.
        known: outcomes of an earlier session, by queue position.
        logs: where what was said about failed candidates is kept.
    """

    def __init__(
        self,
        dispatch: Dispatch,
        compiler: Compiler,
        devices: Sequence[Device],
        baseline: Compiled,
        known: Mapping[int, Outcome],
        logs: Path,
    ) -> None:
        self._dispatch = dispatch
        self._compiler = compiler
        self._measuring = Measuring(devices, baseline.digest, known, partial(keep_log, logs))

    def run(
        self, batch: Sequence[Candidate], go_on: Callable[[], bool] = lambda: True
    ) -> Iterator[tuple[Candidate, Outcome]]:
        candidates = {candidate.index: candidate for candidate in batch}
        specs = specs_of(self._dispatch, batch)
        compiled = list(self._compiler.compile(specs))
        ready = list(zip(candidates, compiled, strict=True))
        for index, outcome in self._measuring.measure(ready, go_on):
            yield candidates[index], outcome


@contextmanager
def local_runner(dispatch: Dispatch, seed: int = 0) -> Iterator[LocalRunner]:
    """A runner on this machine's CPU that keeps nothing, for scripts."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        compiler = stack.enter_context(Compiler(dispatch, folder))
        baseline = compiler.baseline()
        device = Device("local-task", call_of(dispatch), baseline.executable, seed)
        stack.callback(device.close)
        device.start()
        device.measure_baseline(4 * BASELINE_SECONDS)
        yield LocalRunner(dispatch, compiler, [device], baseline, {}, folder / "logs")


def specs_of(dispatch: Dispatch, batch: Sequence[Candidate]) -> list[tuple[str, str]]:
    """What the compiler is asked for: file stems and tuning specs of candidates."""
    return [(executable_name(c.index), spec_of(dispatch, c.config)) for c in batch]


def executable_name(index: int) -> str:
    """File stem of a candidate's executable in the working folder."""
    return f"{index:05d}"
