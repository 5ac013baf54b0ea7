"""Compiling without measuring: for devices that are not here, and to try a compiler."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from ...search import Dispatch
from ..compiling import Compiler, keep_log
from ..measuring import BASELINE, OK, Compiled, Outcome
from .local import Candidate, specs_of


class CompileRunner:
    """A runner whose outcomes have no time.

    Args:
        baseline: the compiler's default.
        known: outcomes of an earlier session, by queue position.
        logs: where what the compiler said of failed candidates is kept.
    """

    def __init__(
        self,
        dispatch: Dispatch,
        compiler: Compiler,
        baseline: Compiled,
        known: Mapping[int, Outcome],
        logs: Path,
    ) -> None:
        self._dispatch = dispatch
        self._compiler = compiler
        self._logs = logs
        self._seen = {baseline.digest: BASELINE}
        for index, outcome in known.items():
            if outcome.kind == OK:
                self._seen.setdefault(outcome.executable, index)

    def run(
        self, batch: Sequence[Candidate], go_on: Callable[[], bool] = lambda: True
    ) -> Iterator[tuple[Candidate, Outcome]]:
        specs = specs_of(self._dispatch, batch)
        for candidate, compiled in zip(batch, self._compiler.compile(specs), strict=True):
            compiled.executable.unlink(missing_ok=True)  # its digest says all that is asked
            yield candidate, self._outcome(candidate.index, compiled)
            if not go_on():
                return  # what is still compiling is given up

    def _outcome(self, index: int, compiled: Compiled) -> Outcome:
        fine = compiled.kind == OK
        if not fine:
            keep_log(self._logs, index, compiled.log)
        first = self._seen.setdefault(compiled.digest, index) if fine else index
        return Outcome(
            compiled.kind,
            reason=compiled.reason,
            stage="" if fine else "compile",
            executable=compiled.digest,
            same_as=None if first == index else first,
            compile_s=round(compiled.seconds, 3),
        )
