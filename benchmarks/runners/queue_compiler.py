"""Compiles candidates by their queue position: what runners that have a compiler share."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from pathlib import Path

from ...core import Child, make_folder
from ...search import CannotRender, Dispatch, ExecutablePipeline, TuningSpec, spec_of
from ..compiling import BuildJob, Compiler, require_default
from ..measuring import (
    BATCH_PER_JOB,
    CRASHED,
    GIVE_UP_RATIO,
    OK,
    CompileOutcome,
    MeasuredCandidate,
)
from .head_start import HeadStart


def compile_queue(
    dispatch: Dispatch,
    render_config: Callable[[int], str],
    batch: Sequence[int],
    folder: Path,
    compile_specs: Callable[[Sequence[tuple[str, TuningSpec]]], Iterator[CompileOutcome]],
) -> Iterator[tuple[int, CompileOutcome]]:
    """Executables of candidates, in order; those that cannot be rendered crashed.

    Args:
        render_config: the `compilation_info` of a queue position; raises `CannotRender` if there is
            none.
        folder: where executables go.
        compile_specs: as `Compiler.compile`.
    """
    failed: dict[int, CompileOutcome] = {}
    specs: list[tuple[str, TuningSpec]] = []
    for index in batch:
        name = f"{index:05d}"
        try:
            specs.append((name, spec_of(dispatch, render_config(index))))
        except CannotRender as failure:
            failed[index] = CompileOutcome(CRASHED, folder / f"{name}.vmfb", reason=str(failure))
    done = compile_specs(specs)
    for index in batch:
        yield index, failed[index] if index in failed else next(done)


def forget_slow(
    measured: Iterator[MeasuredCandidate], executables: MutableMapping[int, Path]
) -> Iterator[MeasuredCandidate]:
    """Removes executables that are hardly asked for again: in ten hours there are 60,000.

    Where one is, it is compiled again.

    Args:
        executables: by queue position; those that are removed are left out.
    """
    for index, outcome in measured:
        slow = outcome.relative is None or outcome.relative > GIVE_UP_RATIO
        needed = outcome.kind == OK and outcome.same_as is None and not slow
        path = None if needed else executables.pop(index, None)
        if path is not None:
            remove(path)
        yield index, outcome


def remove(executable: Path) -> None:
    """Removes an executable, if there is one, and what it was compiled from."""
    for path in (executable, executable.with_suffix(".mlir")):
        path.unlink(missing_ok=True)


class QueueCompiler:
    """A compiler of one dispatch's candidates.

    Args:
        render_config: as of `compile_queue`.
        folder: where executables go. What is there is removed: executables of an earlier session
            could be anything.
        jobs: compile workers; as many as cores if None.
        builder: what makes the executables, if IREE's compiler does not.
        children: compile workers of other hosts, in place of `jobs` of this one.
        head_start: has the compile workers, of which one may have compiled the default.
    """

    def __init__(
        self,
        dispatch: Dispatch,
        render_config: Callable[[int], str],
        folder: Path,
        jobs: int | None,
        builder: ExecutablePipeline | None = None,
        children: Sequence[Child] = (),
        head_start: HeadStart | None = None,
    ) -> None:
        self._head_start = head_start
        self._dispatch = dispatch
        self._render_config = render_config
        self._folder = folder
        self._builder = builder
        if head_start is not None:
            children = head_start.compilers
        self._compiler = Compiler(dispatch, folder, jobs, children=children)
        self.jobs = self._compiler.jobs
        self.batch = BATCH_PER_JOB * self._compiler.jobs

    def default(self) -> CompileOutcome:
        """As `Compiler.baseline`.

        Raises:
            WorkError: it does not compile.
        """
        return require_default(self._made_ahead() or self._compiler.baseline())

    def defaults(self) -> tuple[CompileOutcome, ...]:
        """As `Compiler.defaults`.

        Raises:
            WorkError: one does not compile.
        """
        ready = self._made_ahead()
        return tuple(map(require_default, (ready,) if ready else self._compiler.defaults()))

    def _made_ahead(self) -> CompileOutcome | None:
        """The default, if it was compiled already; the folder is emptied before."""
        shutil.rmtree(self._folder, ignore_errors=True)
        make_folder(self._folder, "move away what is there")
        return self._head_start.default(self._folder) if self._head_start else None

    def compile(self, batch: Sequence[int]) -> Iterator[tuple[int, CompileOutcome]]:
        """As `compile_queue`."""
        if self._builder is not None:
            return zip(batch, self._build(self._builder, batch), strict=True)
        return compile_queue(
            self._dispatch, self._render_config, batch, self._folder, self._compiler.compile
        )

    def compile_one(self, index: int) -> CompileOutcome:
        """The executable of a candidate; several threads may ask at a time."""
        name = f"{index:05d}"
        if self._builder is not None:
            return self._compiler.compile_job(self._job(self._builder, index))
        try:
            spec = spec_of(self._dispatch, self._render_config(index))
        except CannotRender as failure:
            return CompileOutcome(CRASHED, self._folder / f"{name}.vmfb", reason=str(failure))
        return self._compiler.compile_job(self._compiler.job(name, spec))

    def _build(self, builder: ExecutablePipeline, batch: Sequence[int]) -> Iterator[CompileOutcome]:
        return self._compiler.compile_jobs([self._job(builder, index) for index in batch])

    def _job(self, builder: ExecutablePipeline, index: int) -> BuildJob:
        candidate = json.loads(self._render_config(index))
        return BuildJob(f"{index:05d}", builder.name, self._dispatch, candidate)

    def compile_winner(self, spec: str) -> CompileOutcome:
        """The dispatch as a tuning spec has it compiled."""
        (compiled,) = self._compiler.compile([("winner", spec)])
        return compiled

    def close(self) -> None:
        self._compiler.close()
