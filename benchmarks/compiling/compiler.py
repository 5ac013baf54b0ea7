"""Compiles candidates side by side, in worker processes that may crash."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...core import (
    NO_MEMORY,
    Child,
    ChildDied,
    ChildKilled,
    ChildPool,
    ChildTimeout,
    KilledError,
    WorkError,
    check_free_space,
    describe_kill,
)
from ...search import Dispatch, TuningSpec
from ...search.reading import Network
from ..measuring import COMPILE_FAILED, CRASHED, KILLED, NOT_APPLIED, OK, TIMEOUT, CompileOutcome
from .worker import MODULE, AssembleRequest, BuildRequest, CompileReply, CompileRequest

COMPILE_TIMEOUT = 60.0
COMPILER = "frontrunner.benchmarks.compiling.worker:answer"


@dataclass(frozen=True)
class CompileJob:
    """A module at phase `executable-sources`, to be compiled.

    Attributes:
        name: stem of the files that are made.
        spec: a tuning spec, or its text; None for the compiler's own default.
        makes: as of `CompileRequest`.
    """

    name: str
    source: str
    flags: tuple[str, ...]
    spec: TuningSpec | str | None = None
    makes: str = MODULE

    def request(self, executable: Path) -> CompileRequest:
        return CompileRequest(self.source, self.flags, self.spec, executable, self.makes)


@dataclass(frozen=True)
class AssembleJob:
    """A split model, to be put together with some executables replaced.

    Attributes:
        name: stem of the file that is made.
        host, parts, flags: as of `AssembleRequest`.
    """

    name: str
    host: Path
    parts: tuple[Path, ...]
    flags: tuple[str, ...]

    def request(self, executable: Path) -> AssembleRequest:
        return AssembleRequest(self.host, self.parts, self.flags, executable)


@dataclass(frozen=True)
class BuildJob:
    """A candidate of an `ExecutablePipeline`, to be built.

    Attributes:
        name: stem of the files that are made.
    """

    name: str
    pipeline: str
    dispatch: Dispatch
    candidate: Mapping[str, int]

    def request(self, executable: Path) -> BuildRequest:
        return BuildRequest(self.pipeline, self.dispatch, self.candidate, executable)


Job = CompileJob | AssembleJob | BuildJob


class CompilePool(ChildPool):
    """A pool of compile workers.

    Args:
        folder: where executables and the specs they were compiled with go.
        jobs: workers; as many as cores by default.
        tries: how often to compile what takes longer than `timeout`. Specs had one in fifty models
            wait for ever, and not the next time, before `Compilation.configure` kept to one thread.
        children: compile workers of other hosts, in place of `jobs` of this one.
    """

    def __init__(
        self,
        folder: Path,
        jobs: int | None = None,
        timeout: float = COMPILE_TIMEOUT,
        tries: int = 1,
        children: Sequence[Child] = (),
    ) -> None:
        super().__init__(COMPILER, jobs, children=children)
        self.folder = folder
        self.timeout = timeout
        self._tries = tries

    def compile_jobs(self, jobs: Sequence[Job]) -> Iterator[CompileOutcome]:
        """Yields in order, as they are done; who stops before the end cancels the rest.

        What is killed, or gets no memory, is compiled again, with nothing beside it, before it
        counts as `killed`.
        """
        return self.map(self._compile, jobs, self._killed)

    def compile_job(self, job: Job) -> CompileOutcome:
        """Compiles one; several threads may ask at a time, as many as there are workers."""
        return self.run(self._compile, job, self._killed)

    def _compile(self, child: Child, job: Job) -> CompileOutcome:
        for _ in range(self._tries):
            compiled = self._compile_once(child, job)
            if compiled.kind != TIMEOUT:
                break
        return compiled

    def _killed(self, job: Job, error: KilledError) -> CompileOutcome:
        return CompileOutcome(KILLED, self._executable(job), reason=f"{error}, twice")

    def _executable(self, job: Job) -> Path:
        return self.folder / f"{job.name}.vmfb"

    def _compile_once(self, child: Child, job: Job) -> CompileOutcome:
        executable = self._executable(job)
        try:
            reply: CompileReply = child.call(job.request(executable), timeout=self.timeout)
        except ChildKilled as death:
            raise KilledError(f"the compiler was {death}") from death
        except ChildDied as death:
            check_free_space(self.folder)
            _raise_if_refused_memory(death)
            first, _, log = str(death).partition("\n")
            return CompileOutcome(
                CRASHED, executable, reason=f"the compiler crashed: {first}", log=log
            )
        except RuntimeError as error:
            _raise_if_refused_memory(error)
            return CompileOutcome(CRASHED, executable, reason=f"the compile worker failed: {error}")
        except ChildTimeout:
            return CompileOutcome(
                TIMEOUT, executable, reason=f"compiling took over {self.timeout:g} s"
            )
        if reply.linker_killed:
            raise KilledError(f"the linker did not start, or was {describe_kill()}")
        if reply.error:
            check_free_space(self.folder)
            return CompileOutcome(
                COMPILE_FAILED, executable, "", reply.seconds, reply.error, reply.details
            )
        if isinstance(job, CompileJob) and job.spec is not None and not reply.applied:
            reason = "the tuning spec matched no op"
            return CompileOutcome(NOT_APPLIED, executable, reply.digest, reply.seconds, reason)
        return CompileOutcome(OK, executable, reply.digest, reply.seconds, applied=reply.applied)


def _raise_if_refused_memory(error: Exception) -> None:
    """Tells a lack of memory from a compiler's crash: nothing is known of what it compiled.

    Raises:
        KilledError: it was that.
    """
    if found := NO_MEMORY.search(str(error)):
        raise KilledError(f"the compiler got no memory ({found[0]})") from error


def raise_if_killed(compiled: CompileOutcome, what: str) -> CompileOutcome:
    """Raises if compiling was killed; for modules that a run cannot go on without.

    Raises:
        KilledError: the compiler was killed, so that nothing is known of it.
    """
    if compiled.kind == KILLED:
        raise KilledError(f"{what} was not compiled: {compiled.reason}")
    return compiled


def require_default(baseline: CompileOutcome) -> CompileOutcome:
    """Raises if the compiler's default does not compile; returns it otherwise.

    Raises:
        WorkError: it does not compile.
    """
    if baseline.kind != OK:
        raise WorkError(
            f"the compiler's default does not compile: {baseline.reason}",
            "see that iree-compile accepts the input",
        )
    return baseline


class Compiler(CompilePool):
    """A pool of compile workers for one dispatch or model.

    Args:
        folder, jobs, timeout, tries, children: as of the pool.
    """

    def __init__(
        self,
        to_compile: Dispatch | Network,
        folder: Path,
        jobs: int | None = None,
        timeout: float = COMPILE_TIMEOUT,
        tries: int = 1,
        children: Sequence[Child] = (),
    ) -> None:
        super().__init__(folder, jobs, timeout, tries, children)
        self.to_compile = to_compile

    def baseline(self) -> CompileOutcome:
        """The compiler's own default.

        Raises:
            KilledError: the compiler was killed from outside, twice.
        """
        compiled = self.compile_job(self.job("baseline", None))
        return raise_if_killed(compiled, "the compiler's default")

    def defaults(self) -> tuple[CompileOutcome, ...]:
        """As `baseline`; and, where specs that the compiler comes with change it, without these.

        Raises:
            KilledError: as `baseline`.
        """
        baseline, target = self.baseline(), self.to_compile.target
        if not target.default_specs:
            return (baseline,)
        # In a process of its own: the compiler turns these specs on for all that one compiles.
        without = replace(self.to_compile, target=replace(target, default_specs=False))
        folder = self.folder / "without-specs"
        folder.mkdir(exist_ok=True)
        with Compiler(without, folder, 1, self.timeout, self._tries) as compiler:
            other = compiler.baseline()
        same = baseline.kind == other.kind == OK and baseline.digest == other.digest
        return (baseline,) if same else (baseline, other)

    def compile(self, specs: Sequence[tuple[str, TuningSpec | str]]) -> Iterator[CompileOutcome]:
        """As `compile_jobs`, given pairs of a name and a spec, or its text."""
        return self.compile_jobs([self.job(name, spec) for name, spec in specs])

    def job(self, name: str, spec: TuningSpec | str | None) -> CompileJob:
        """What compiles the dispatch or model with a spec, or as it is."""
        return CompileJob(name, self.to_compile.source, self.to_compile.target.flags, spec)
