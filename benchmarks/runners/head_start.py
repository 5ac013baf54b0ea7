"""What a run on this machine needs first, made while its candidates are put in order."""

from __future__ import annotations

import shutil
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from ...core import Child, FrontrunnerError, hand_on, started_ahead, usable_cores
from ...search import Dispatch
from ..compiling import COMPILER, Compiler
from ..measuring import HANDLER, KEEP_MEMORY, OK, CompileOutcome


class HeadStart:
    """Starts what runners that are made meanwhile compile and measure with, and their default.

    While candidates are ordered a core has nothing to do. Each process takes 0.3 s to start, and
    the default 0.5 s to compile. Use it as a context.

    Args:
        jobs: compile workers; as many as cores if None.
        devices: how many are measured on.
    """

    def __init__(self, jobs: int | None, devices: int) -> None:
        self._jobs = jobs or usable_cores()
        self._devices = devices
        self._worker = Child(COMPILER)
        self._stack = ExitStack()
        self._default: Future[CompileOutcome] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def begin(self, dispatch: Dispatch) -> None:
        if dispatch.target.default_specs:  # there may be two defaults
            self._start_processes(self._jobs)
            return
        self._stack.enter_context(self._worker)  # ended last: the thread may start it late
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        thread = self._stack.enter_context(ThreadPoolExecutor(1))
        compiler = self._stack.enter_context(Compiler(dispatch, folder, children=[self._worker]))
        self._default = thread.submit(self._compile, compiler)

    def _compile(self, compiler: Compiler) -> CompileOutcome:
        compiled = compiler.baseline()
        if compiled.kind == OK:
            hand_on(self._worker)
            # Not before: with all of them starting beside the order, the first candidate was
            # there after 2.6 s, where it is after 1.8 (two cores).
            self._start_processes(self._jobs - 1)
        return compiled

    def _start_processes(self, compilers: int) -> None:
        compiling = [Child(COMPILER) for _ in range(compilers)]
        measuring = [Child(HANDLER, KEEP_MEMORY) for _ in range(self._devices)]
        self._stack.enter_context(started_ahead([*measuring, *compiling]))

    def default(self, folder: Path) -> CompileOutcome | None:
        """The compiled default, moved to a folder; None where there is none that works.

        Whoever then compiles it where it belongs can tell what is wrong with it.
        """
        future, self._default = self._default, None
        if future is None:
            return None
        with suppress(FrontrunnerError, OSError):
            compiled = future.result()
            if compiled.kind == OK:
                moved = shutil.move(compiled.executable, folder)
                return replace(compiled, executable=Path(moved))
        return None
