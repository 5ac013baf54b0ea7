"""Runs candidates on this machine."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol, runtime_checkable

from ...search import Dispatch, ExecutablePipeline
from ..compiling import call_of, raise_if_killed, save_log
from ..measuring import (
    CHANGED,
    OK,
    DeviceGroup,
    Finals,
    MeasuringRunner,
    Outcome,
    RunFailed,
)
from .head_start import HeadStart
from .queue_compiler import QueueCompiler, forget_slow

WITH_SPECS = "with the specs that the compiler comes with"
WITHOUT_SPECS = "without the specs that the compiler comes with, which make it slower"


@runtime_checkable
class ExecutableRunner(MeasuringRunner, Protocol):
    """A runner with compiled modules on this machine, for checks of one's own."""

    @property
    def default(self) -> Path:
        """The compiled module of the compiler's default."""

    def executables(
        self, indices: Sequence[int], outcomes: Mapping[int, Outcome]
    ) -> Mapping[int, Path]:
        """The compiled modules of candidates, without those that do not compile as they did.

        Raises:
            KilledError: the compiler was killed from outside, twice.
        """


def _is_before(until: float) -> bool:
    return time.monotonic() < until


class LocalRunner:
    """Compiles and measures on this machine.

    A batch is compiled on all cores first and measured afterwards, with nothing else running.
    Identical executables are measured once per device.

    Args:
        render_config: the `compilation_info` of a queue position.
        devices: URIs; candidates take turns on them.
        folder: where executables go; what is there is removed.
        logs: where what was said about failed candidates is kept.
        jobs: compile workers; as many as cores if None.
        seed: of the inputs.
        builder: what makes candidates' executables, if IREE's compiler does not.
        head_start: may have compiled the default.
    """

    def __init__(
        self,
        dispatch: Dispatch,
        render_config: Callable[[int], str],
        devices: Sequence[str],
        folder: Path,
        logs: Path,
        *,
        jobs: int | None = None,
        seed: int = 0,
        builder: ExecutablePipeline | None = None,
        head_start: HeadStart | None = None,
    ) -> None:
        self._compiler = QueueCompiler(
            dispatch, render_config, folder, jobs, builder, head_start=head_start
        )
        self._devices = DeviceGroup(devices, call_of(dispatch), seed, partial(save_log, logs))
        self._executables: dict[int, Path] = {}
        self._baseline = ""
        # What becomes of the first candidates is known a second sooner than with a whole batch.
        self.batch = self._compiler.jobs

    @property
    def fingerprints(self) -> tuple[str, ...]:
        return self._devices.fingerprints

    def start(self, known: Mapping[int, Outcome]) -> dict[str, float]:
        """Starts with the faster one of the compiler's defaults, if there are two."""
        defaults = self._compiler.defaults()
        if len(defaults) == 1:
            return self._devices.start(defaults[0], known)
        # In turns, of which the faster one counts: a disturbed one would choose what candidates,
        # and the speedup that is reported, are compared with.
        turns = [[self._devices.start(one, known) for one in defaults] for _ in range(2)]
        with_specs, without = (
            min(sum(times.values()) for times in own) for own in zip(*turns, strict=True)
        )
        self._baseline = WITHOUT_SPECS if without < with_specs else WITH_SPECS
        # The last that was started is the one without.
        return turns[1][1] if without < with_specs else self._devices.start(defaults[0], known)

    def run(
        self, batch: Sequence[int], should_continue: Callable[[], bool] = lambda: True
    ) -> Iterator[tuple[int, Outcome]]:
        self.batch = self._compiler.batch
        ready, started = [], time.monotonic()
        for one in self._compiler.compile(batch):
            ready.append(one)
            if not should_continue():
                # The time is up: what is still compiling is given up, and what is ready measured
                # for no longer than it took to compile.
                until = 2 * time.monotonic() - started
                should_continue = partial(_is_before, until)
                break
        self._executables |= {i: done.executable for i, done in ready if done.kind == OK}
        return forget_slow(self._devices.screen(ready, should_continue), self._executables)

    @property
    def default(self) -> Path:
        return self._devices.baseline

    def executables(
        self, indices: Sequence[int], outcomes: Mapping[int, Outcome]
    ) -> dict[int, Path]:
        """Those of an earlier session are compiled again."""
        missing = [index for index in indices if index not in self._executables]
        for index, compiled in self._compiler.compile(missing):
            raise_if_killed(compiled, f"finalist {index + 1}")
            if compiled.digest == outcomes[index].executable:
                self._executables[index] = compiled.executable
        return {i: self._executables[i] for i in indices if i in self._executables}

    def finals(self, contenders: Sequence[int], outcomes: Mapping[int, Outcome]) -> Finals:
        executables = self.executables(contenders, outcomes)
        changed = [(index, CHANGED) for index in contenders if index not in executables]
        finals = self._devices.finals(executables).with_failed(changed)
        return replace(finals, baseline=self._baseline)

    def confirm(self, index: int) -> Finals:
        confirmed = self._devices.confirm(index, self._executables[index])
        return replace(confirmed, baseline=self._baseline)

    def verify(self, index: int, spec: str) -> None:
        if not spec:
            self._devices.verify(self._executables[index])
            return
        compiled = self._compiler.compile_winner(spec)
        if compiled.kind != OK:
            raise RunFailed(compiled.kind, compiled.reason)
        self._devices.verify(compiled.executable)

    def close(self) -> None:
        with closing(self._compiler):
            self._devices.close()


@contextmanager
def open_local_runner(
    dispatch: Dispatch,
    render_config: Callable[[int], str],
    devices: Sequence[str] = ("local-task",),
    *,
    jobs: int | None = None,
    seed: int = 0,
) -> Iterator[LocalRunner]:
    """A started runner that keeps nothing, on this machine's CPU if nothing else is said."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runner = LocalRunner(
            dispatch,
            render_config,
            devices,
            folder / "work",
            folder / "logs",
            jobs=jobs,
            seed=seed,
        )
        try:
            runner.start({})
            yield runner
        finally:
            runner.close()
