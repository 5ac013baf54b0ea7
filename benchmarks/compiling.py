"""Compiles candidates side by side, in worker processes that may crash."""

from __future__ import annotations

import queue
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from joblib import Parallel, delayed

from ..search import Dispatch, WorkError
from ..search.isolate import Child, ChildDied, ChildTimeout
from ..search.model import Model
from ..search.room import check_room
from ..search.target import usable_cores
from .compile_worker import CompileReply, CompileRequest
from .outcome import COMPILE_FAILED, CRASHED, NOT_APPLIED, OK, TIMEOUT, Compiled

COMPILE_TIMEOUT = 60.0


class Compiler:
    """A pool of compile workers for one dispatch or model.

    joblib hands the work to threads, each of which drives one worker process of its own: a pool of
    processes would be torn down as a whole by the first compiler crash.

    Args:
        folder: where executables and the specs they were compiled with go.
        jobs: workers; as many as cores by default.
    """

    def __init__(
        self,
        compiled: Dispatch | Model,
        folder: Path,
        jobs: int | None = None,
        timeout: float = COMPILE_TIMEOUT,
    ) -> None:
        self.compiled = compiled
        self.folder = folder
        self.jobs = jobs or usable_cores()
        self.timeout = timeout
        self._given_up = False
        self._children: queue.SimpleQueue[Child] = queue.SimpleQueue()
        self._all = [
            Child("frontrunner.benchmarks.compile_worker:answer") for _ in range(self.jobs)
        ]
        for child in self._all:
            self._children.put(child)

    def baseline(self) -> Compiled:
        """The compiler's own default."""
        return self._compile("baseline", None)

    def compile(self, specs: Sequence[tuple[str, str]]) -> Iterator[Compiled]:
        """Compiles (name, spec text) pairs; yields in order, as they are done.

        Who stops before the end cancels the rest.
        """
        self._given_up = False
        run = Parallel(n_jobs=self.jobs, backend="threading", return_as="generator")
        done = run(delayed(self._compile)(name, spec) for name, spec in specs)
        try:
            for compiled in done:  # noqa: UP028 (`yield from` would close it out of reach)
                yield compiled
        except BaseException:
            # Threads wait for their children: up to a minute each, and then for the next one's.
            self._given_up = True
            self.close()
            raise
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # joblib tells what it cancels
                done.close()

    def close(self) -> None:
        for child in self._all:
            child.close()

    def __enter__(self) -> Compiler:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _compile(self, name: str, spec: str | None) -> Compiled:
        executable = self.folder / f"{name}.vmfb"
        if self._given_up:
            return Compiled(CRASHED, executable, reason="given up")
        path = None
        if spec is not None:
            path = self.folder / f"{name}.mlir"
            try:
                path.write_text(spec)
            except OSError as error:
                raise WorkError(f"cannot write {path}: {error.strerror}") from error
        flags = self.compiled.target.flags
        request = CompileRequest(self.compiled.source, flags, path, executable)
        child = self._children.get()
        try:
            reply: CompileReply = child.call(request, timeout=self.timeout)
        except ChildDied as death:
            check_room()
            first, _, log = str(death).partition("\n")
            return Compiled(CRASHED, executable, reason=f"the compiler crashed: {first}", log=log)
        except RuntimeError as error:
            return Compiled(CRASHED, executable, reason=f"the compile worker failed: {error}")
        except ChildTimeout:
            return Compiled(TIMEOUT, executable, reason=f"compiling took over {self.timeout:g} s")
        finally:
            self._children.put(child)
        if reply.error:
            check_room()
            return Compiled(
                COMPILE_FAILED, executable, "", reply.seconds, reply.error, reply.details
            )
        if spec is not None and not reply.applied:
            reason = "the tuning spec matched no op"
            return Compiled(NOT_APPLIED, executable, reply.digest, reply.seconds, reason)
        return Compiled(OK, executable, reply.digest, reply.seconds, applied=reply.applied)
