"""Runners turn candidates into outcomes: compile, verify, measure."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from ..search import Dispatch
from ..search.spec import Entry, render_spec
from .compiling import Compiled, Compiler
from .device import Device, KernelFailed
from .outcome import OK, Outcome

# Screening: long enough that its noise (about 5 % here) is below what separates candidates, short
# enough that a candidate costs less than compiling it. Finalists are measured again.
SCREEN_SECONDS = 0.08
BASELINE_SECONDS = 0.1
# A candidate this much slower than the best is not worth more than its first runs.
HOPELESS = 2.0
BASELINE = -1


@dataclass(frozen=True)
class Candidate:
    """A queue entry: its position and its `compilation_info`."""

    index: int
    config: str


class Runner(Protocol):
    """Whatever can say what becomes of candidates: this machine, another one, a recording."""

    def run(self, batch: Sequence[Candidate]) -> Iterator[tuple[Candidate, Outcome]]:
        """Yields each candidate's outcome as soon as it is known, in order."""


class LocalRunner:
    """Runs candidates on this machine.

    A batch is compiled on all cores first and measured afterwards, with nothing else running.
    Identical executables are measured once.

    Args:
        devices: started devices; candidates take turns on them.
        baseline: the compiler's default.
        known: outcomes of an earlier session, by queue position.
        failures: where specs and reasons of failed candidates are kept.
    """

    def __init__(
        self,
        dispatch: Dispatch,
        compiler: Compiler,
        devices: Sequence[Device],
        baseline: Compiled,
        known: Mapping[int, Outcome],
        failures: Path,
    ) -> None:
        self._dispatch = dispatch
        self._compiler = compiler
        self._devices = devices
        self._failures = failures
        default = Outcome(OK, time_us=1.0, baseline_us=1.0)
        self._seen: dict[tuple[str, str], tuple[int, Outcome]] = {
            (device.uri, baseline.digest): (BASELINE, default) for device in devices
        }
        self._best = float("inf")
        for index, outcome in known.items():
            self._note(index, outcome)

    def run(self, batch: Sequence[Candidate]) -> Iterator[tuple[Candidate, Outcome]]:
        specs = [(executable_name(c.index), self.spec_of(self._dispatch, c.config)) for c in batch]
        compiled = list(self._compiler.compile(specs))
        for device in self._devices:
            device.measure_baseline(BASELINE_SECONDS)
        for candidate, executable in zip(batch, compiled, strict=True):
            outcome = self._outcome(candidate, executable)
            self._note(candidate.index, outcome)
            if outcome.kind != OK:
                with suppress(OSError):  # a reproducer less must not cost an outcome
                    self._keep(candidate, outcome, executable)
            yield candidate, outcome

    @staticmethod
    def spec_of(dispatch: Dispatch, config: str, comment: str = "") -> str:
        """The tuning spec of one configuration of a dispatch."""
        return render_spec([Entry(dispatch.problem, dispatch.indexing_maps, config, comment)])

    def _outcome(self, candidate: Candidate, compiled: Compiled) -> Outcome:
        device = self._devices[candidate.index % len(self._devices)]
        common = Outcome(
            compiled.kind,
            executable=compiled.digest,
            compile_s=round(compiled.seconds, 3),
            device=device.uri,
            baseline_us=device.baseline_us,
        )
        if compiled.kind != OK:
            return replace(common, stage="compile", reason=compiled.reason, baseline_us=None)
        if (device.uri, compiled.digest) in self._seen:
            index, twin = self._seen[device.uri, compiled.digest]
            # In units of its own baseline: the machine may have drifted since.
            time_us = None if twin.relative is None else twin.relative * device.baseline_us
            return replace(
                common, kind=twin.kind, stage=twin.stage, reason=twin.reason,
                time_us=time_us, same_as=index,
            )  # fmt: skip
        try:
            time_us = device.measure(
                compiled.executable,
                SCREEN_SECONDS,
                give_up_us=HOPELESS * self._best * device.baseline_us,
            )
        except KernelFailed as failure:
            return replace(common, kind=failure.kind, stage="run", reason=str(failure))
        return replace(common, time_us=time_us)

    def _note(self, index: int, outcome: Outcome) -> None:
        if outcome.executable and outcome.stage != "compile":
            self._seen.setdefault((outcome.device, outcome.executable), (index, outcome))
        if outcome.relative is not None:
            self._best = min(self._best, outcome.relative)

    def _keep(self, candidate: Candidate, outcome: Outcome, compiled: Compiled) -> None:
        """A folder that reproduces the failure with nothing but the IREE tools."""
        source = self._failures / "source.mlir"
        folder = self._failures / f"{candidate.index:05d}-{outcome.kind}"
        folder.mkdir(parents=True, exist_ok=True)
        source.write_text(self._dispatch.source)
        (folder / "spec.mlir").write_text(self.spec_of(self._dispatch, candidate.config))
        (folder / "reason.txt").write_text(f"{outcome.reason}\n\n{compiled.log}\n")
        flags = " ".join((*self._dispatch.target.flags, "--compile-from=executable-sources"))
        compile_line = (
            f"iree-compile ../source.mlir {flags} "
            "--iree-codegen-tuning-spec-path=spec.mlir -o candidate.vmfb\n"
        )
        inputs = " ".join(
            f"--input={'x'.join([*map(str, t.shape), t.dtype])}=1" for t in self._dispatch.inputs
        )
        run_line = (
            f"iree-run-module --device={outcome.device} --module=candidate.vmfb "
            f"--function={self._dispatch.function} {inputs}\n"
        )
        (folder / "reproduce.sh").write_text(
            '#!/bin/sh\nset -e\ncd "$(dirname "$0")"\n' + compile_line + run_line
        )


@contextmanager
def local_runner(dispatch: Dispatch, seed: int = 0) -> Iterator[LocalRunner]:
    """A runner on this machine's CPU that keeps nothing, for scripts."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        compiler = stack.enter_context(Compiler(dispatch, folder))
        baseline = compiler.baseline()
        device = Device("local-task", dispatch, baseline.executable, seed)
        stack.callback(device.close)
        device.start()
        device.measure_baseline(4 * BASELINE_SECONDS)
        yield LocalRunner(dispatch, compiler, [device], baseline, {}, folder / "failures")


def executable_name(index: int) -> str:
    """File stem of a candidate's executable in the working folder."""
    return f"{index:05d}"
