"""Compiles candidates by their queue position: what runners that have a compiler share."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ...core import WorkError
from ...search import Dispatch, spec_of
from ...search.gpu import CannotRender
from ..compiling import Compiler
from ..measuring import BATCH_PER_JOB, CRASHED, OK, Compiled


class QueueCompiler:
    """A compiler of one dispatch's candidates.

    Args:
        config: the `compilation_info` of a queue position; raises `CannotRender` if there is none.
        folder: where executables go. What is there is removed: executables of an earlier session
            could be anything.
        jobs: compile workers; as many as cores if None.
    """

    def __init__(
        self, dispatch: Dispatch, config: Callable[[int], str], folder: Path, jobs: int | None
    ) -> None:
        self._dispatch = dispatch
        self._config = config
        self._folder = folder
        self._compiler = Compiler(dispatch, folder, jobs)
        self.batch = BATCH_PER_JOB * self._compiler.jobs

    def baseline(self) -> Compiled:
        """The compiler's default.

        Raises:
            WorkError: it does not compile.
        """
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        baseline = self._compiler.baseline()
        if baseline.kind != OK:
            raise WorkError(
                f"the compiler's default does not compile: {baseline.reason}",
                "see that iree-compile accepts the input",
            )
        return baseline

    def compile(self, batch: Sequence[int]) -> Iterator[tuple[int, Compiled]]:
        """Executables of candidates, in order; those that cannot be rendered crashed."""
        failed: dict[int, Compiled] = {}
        specs = []
        for index in batch:
            name = f"{index:05d}"
            try:
                specs.append((name, spec_of(self._dispatch, self._config(index))))
            except CannotRender as failure:
                executable = self._folder / f"{name}.vmfb"
                failed[index] = Compiled(CRASHED, executable, reason=str(failure))
        done = self._compiler.compile(specs)
        for index in batch:
            yield index, failed[index] if index in failed else next(done)

    def compile_winner(self, spec: str) -> Compiled:
        """The dispatch as a tuning spec has it compiled."""
        (compiled,) = self._compiler.compile([("winner", spec)])
        return compiled

    def close(self) -> None:
        self._compiler.close()
