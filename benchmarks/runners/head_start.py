"""What a run on this machine needs first, made while its candidates are put in order."""

from __future__ import annotations

import shutil
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Self

from ...core import Child, FrontrunnerError, KilledError, started_ahead, usable_cores
from ...search import Dispatch
from ..compiling import COMPILER, Compiler
from ..measuring import HANDLER, KEEP_MEMORY, OK, TIMEOUT, CompileOutcome


class HeadStart:
    """Compiles the default, and starts what runners that are made meanwhile measure with.

    While candidates are ordered a core has nothing to do. Each process takes 0.3 s to start, and
    the default 0.5 s to compile. Use it as a context.

    Args:
        jobs: compile workers; as many as cores if None.
        devices: how many are measured on.

    Attributes:
        compilers: the workers; the first one compiles the default.
    """

    def __init__(self, jobs: int | None, devices: int) -> None:
        self.compilers = [Child(COMPILER) for _ in range(jobs or usable_cores())]
        self._devices = devices
        self._default: Future[CompileOutcome] | None = None
        self._asked, self._given_up = Event(), Event()
        self._stack, self._others = ExitStack(), ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def begin(self, dispatch: Dispatch) -> None:
        self._stack.enter_context(self._others)
        self._stack.enter_context(self.compilers[0])
        thread = self._stack.enter_context(ThreadPoolExecutor(1))
        if not dispatch.target.default_specs:  # with them, there may be two defaults
            folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
            compiler = Compiler(dispatch, folder, children=self.compilers[:1])
            self._default = thread.submit(compiler.baseline)
            self._stack.callback(self._give_up, compiler, self._default)
        # Not at once: with all processes starting beside the order, the first candidate was
        # there after 2.6 s, where it was after 1.8 (two cores).
        thread.submit(self._start_others)

    def _give_up(self, compiler: Compiler, default: Future[CompileOutcome]) -> None:
        """Ends what the thread does, also if it only begins."""
        self._given_up.set()
        default.cancel()
        while not default.done():
            compiler.close()
            wait([default], 0.01)

    def _start_others(self) -> None:
        if self._given_up.is_set():
            return
        # While the default is timed, what compiles may not start.
        compilers = 0 if self._asked.is_set() else len(self.compilers) - 1
        compiling = [Child(COMPILER) for _ in range(compilers)]
        measuring = [Child(HANDLER, KEEP_MEMORY) for _ in range(self._devices)]
        self._others.enter_context(started_ahead([*measuring, *compiling]))

    def default(self, folder: Path) -> CompileOutcome | None:
        """The compiled default, moved to a folder.

        None where there is none, or none that works: whoever then compiles it where it belongs can
        tell what is wrong with it.

        Raises:
            KilledError: the compiler was killed from outside, twice.
        """
        self._asked.set()
        future, self._default = self._default, None
        if future is None:
            return None
        try:
            compiled = future.result()
        except KilledError:
            raise
        except FrontrunnerError:
            return None
        if compiled.kind == OK:
            with suppress(OSError):
                moved = shutil.move(compiled.executable, folder)
                return replace(compiled, executable=Path(moved))
        return compiled if compiled.kind == TIMEOUT else None
