"""Compiles without measuring: for devices that are not here, and to try a compiler."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from ...search import Dispatch, ExecutablePipeline
from ..compiling import save_log
from ..measuring import BASELINE, OK, CompileOutcome, Outcome
from .head_start import HeadStart
from .queue_compiler import QueueCompiler, remove


class CompileRunner:
    """A runner whose outcomes have no time.

    Args:
        render_config: the `compilation_info` of a queue position.
        folder: where executables go; what is there is removed.
        logs: where what the compiler said of failed candidates is kept.
        jobs: compile workers; as many as cores if None.
        builder: what makes candidates' executables, if IREE's compiler does not.
        head_start: may have compiled the default.
    """

    def __init__(
        self,
        dispatch: Dispatch,
        render_config: Callable[[int], str],
        folder: Path,
        logs: Path,
        *,
        jobs: int | None = None,
        builder: ExecutablePipeline | None = None,
        head_start: HeadStart | None = None,
    ) -> None:
        self._compiler = QueueCompiler(
            dispatch, render_config, folder, jobs, builder, head_start=head_start
        )
        self._logs = logs
        self._seen: dict[str, int] = {}
        self.batch = self._compiler.batch

    def start(self, known: Mapping[int, Outcome]) -> dict[str, float]:
        self._seen = {self._compiler.default().digest: BASELINE}
        for index, outcome in known.items():
            if outcome.kind == OK:
                self._seen.setdefault(outcome.executable, index)
        return {}

    def run(
        self, batch: Sequence[int], should_continue: Callable[[], bool] = lambda: True
    ) -> Iterator[tuple[int, Outcome]]:
        for index, compiled in self._compiler.compile(batch):
            remove(compiled.executable)  # its digest says all that is asked
            yield index, self._outcome(index, compiled)
            if not should_continue():
                return  # what is still compiling is given up

    def close(self) -> None:
        self._compiler.close()

    def _outcome(self, index: int, compiled: CompileOutcome) -> Outcome:
        fine = compiled.kind == OK
        if not fine:
            save_log(self._logs, index, compiled.log)
        first = self._seen.setdefault(compiled.digest, index) if fine else index
        return Outcome(
            compiled.kind,
            reason=compiled.reason,
            stage="" if fine else "compile",
            executable=compiled.digest,
            same_as=None if first == index else first,
            compile_s=round(compiled.seconds, 3),
        )
