"""The bench that dispatches are profiled on: processes that read, compile, run and compare."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..benchmarks.child_pool import ChildPool
from ..benchmarks.compiling import CompilePool, Job
from ..benchmarks.device import TIMING_QUANTILE, Device, KernelFailed, shares_cores
from ..benchmarks.outcome import OK, WRONG_RESULT, Compiled, Outcome
from ..benchmarks.peak import Peak, measure_peak
from ..benchmarks.reproducer import Reproducer
from ..benchmarks.unit import Unit
from ..search import InputError, NotTunableError, read_dispatch
from ..search.errors import UnknownTargetError
from ..search.files import read_bytes
from ..search.isolate import Child
from ..search.model import read_model
from ..search.reader import READER
from .generated import Generated
from .libraries import Libraries, Refused
from .profile_log import (
    DEFAULT,
    FAILED,
    IREE,
    PASSED,
    UNCHECKED,
    UNKNOWN,
    Key,
    ProfileLog,
    Row,
)
from .progress import Observer

# Seconds that a dispatch is timed.
SECONDS = 0.2


@dataclass(frozen=True)
class ProfileOptions:
    """How dispatches are profiled.

    Attributes:
        failures: where what failed is kept, in a folder for each.
        libraries: to compare with.
    """

    failures: Path
    verify: bool = True
    target: str = "host"
    device: str = "local-task"
    libraries: tuple[str, ...] = ()
    seed: int = 0
    jobs: int | None = None


@dataclass(frozen=True)
class Wanted:
    """Rows of a dispatch that are to be there.

    Attributes:
        digest: of the files that they are made of.
        names: of configurations.
    """

    generated: Generated
    digest: str
    names: tuple[str, ...]
    libraries: tuple[str, ...]

    def rows(self) -> Iterator[Key]:
        for name in self.names:
            yield self.generated.name, name, IREE
        for library in self.libraries:
            yield self.generated.name, DEFAULT, library

    def without(self, rows: Mapping[Key, Row]) -> Wanted:
        """What is left to do, given what there is."""

        def there(name: str, provider: str) -> bool:
            row = rows.get((self.generated.name, name, provider))
            return row is not None and row.digest == self.digest

        return replace(
            self,
            names=tuple(n for n in self.names if not there(n, IREE)),
            libraries=tuple(n for n in self.libraries if not there(DEFAULT, n)),
        )

    def row(self, name: str, provider: str, **more: Any) -> Row:
        """A row of it, with what is known without running it."""
        operation = self.generated.operation
        known: dict[str, Any] = {}
        if operation is not None:
            known = {"kind": operation.kind, "sizes": operation.sizes, "types": operation.typed}
            known["fused"] = "+".join(operation.fused)
        knobs = next((c.knobs for c in self.generated.configurations if c.name == name), {})
        fields = {"kind": "", **known, "knobs": knobs, **more}
        return Row(self.generated.name, configuration=name, provider=provider, digest=self.digest,
                   **fields)  # fmt: skip


@dataclass(frozen=True)
class Item:
    """A configuration that is compiled and measured."""

    wanted: Wanted
    unit: Unit
    name: str
    spec: str | None


class Bench:
    """Makes rows, and logs each as soon as it is known.

    A chunk is compiled on all cores first and measured afterwards, with nothing else running.
    """

    def __init__(self, options: ProfileOptions, log: ProfileLog, observer: Observer) -> None:
        self._options, self._log, self._observer = options, log, observer
        self._device: Device | None = None
        self._stack = ExitStack()
        self.jobs = 0

    def __enter__(self) -> Self:
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        self._readers = self._stack.enter_context(ChildPool(READER, self._options.jobs))
        self._compilers = self._stack.enter_context(CompilePool(folder, self._options.jobs))
        self._libraries = self._stack.enter_context(Libraries(self._options.libraries))
        self.jobs = self._compilers.jobs
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def run(self, chunk: Sequence[Wanted]) -> None:
        units: dict[str, Unit] = {}
        items: list[Item] = []
        for one, found in zip(chunk, self._readers.map(self._read, chunk), strict=True):
            if isinstance(found, InputError):
                for _, name, provider in one.rows():
                    reason = str(found)
                    self._log.append(
                        one.row(name, provider, verification=UNCHECKED, outcome="refused",
                                reason=reason)
                    )  # fmt: skip
                continue
            units[one.generated.name] = found
            items += [Item(one, found, name, _spec(one.generated, name)) for name in one.names]
        jobs = [
            Job(f"{at:04d}", item.unit.source, item.unit.flags, item.spec)
            for at, item in enumerate(items)
        ]
        compiled = list(self._compilers.compile_jobs(jobs))
        self._observer.phase("measuring")
        for item, executable in zip(items, compiled, strict=True):
            self._log.append(self._measured(item, executable))
            executable.executable.unlink(missing_ok=True)
        for one in chunk:
            for library in one.libraries:
                if (unit := units.get(one.generated.name)) is not None:
                    self._log.append(self._compared(one, unit, library))

    def _read(self, reader: Child, one: Wanted) -> Unit | InputError:
        path, operation = one.generated.path, one.generated.operation
        try:
            try:
                return Unit.of(read_dispatch(path, self._options.target, reader))
            except NotTunableError:
                # It can be run all the same.
                unit = Unit.of_model(read_model(path, self._options.target))
                return replace(unit, flops=operation.flops) if operation else unit
        except UnknownTargetError:
            raise  # it is that of all of them
        except InputError as error:
            return error

    def _measured(self, item: Item, compiled: Compiled) -> Row:
        """The row of a configuration, after keeping what shows why it failed."""
        operation = item.wanted.generated.operation
        verify = self._options.verify and operation is not None
        shutil.rmtree(self._folder(item), ignore_errors=True)  # of an earlier failure
        row = item.wanted.row(
            item.name,
            IREE,
            verification=_unverified(self._options.verify, operation is None),
            outcome=compiled.kind,
            reason=compiled.reason,
            compile_s=round(compiled.seconds, 3),
        )
        if compiled.kind != OK:
            self._keep(item, row, "compile", compiled.log)
            return row
        try:
            device = self._turned_to(item)
            samples = device.samples(compiled.executable, SECONDS, verify=verify)
        except KernelFailed as failure:
            wrong = failure.kind == WRONG_RESULT
            verification = FAILED if wrong else row.verification
            row = replace(row, outcome=failure.kind, reason=str(failure), verification=verification)
            self._keep(item, row, "run", str(failure.__cause__ or ""))
            return row
        return replace(
            row,
            verification=PASSED if verify else row.verification,
            **self._figures(item.unit, samples),
        )

    def _compared(self, one: Wanted, unit: Unit, library: str) -> Row:
        """The row of another library."""
        operation, verify = one.generated.operation, self._options.verify
        assert operation is not None
        row = one.row(DEFAULT, library, verification=UNCHECKED, outcome=OK)
        try:
            samples = self._libraries.time(
                library, operation, self._options.seed, SECONDS, verify=verify
            )
        except Refused as why:
            wrong = FAILED if why.kind == WRONG_RESULT else row.verification
            return replace(row, outcome=why.kind, reason=str(why), verification=wrong)
        verification = PASSED if verify else row.verification
        return replace(row, verification=verification, **self._figures(unit, samples))

    def _turned_to(self, item: Item) -> Device:
        """The device, with the dispatch's inputs."""
        call, operation = item.unit.call, item.wanted.generated.operation
        if self._device is None:
            self._device = Device(self._options.device, call, None, self._options.seed, operation)
            self._stack.callback(self._device.close)
            self._device.start()
        elif self._device.call != call:
            self._device.turn_to(call, operation)
        return self._device

    def _figures(self, unit: Unit, samples: Sequence[float]) -> dict[str, Any]:
        """What is told of times."""
        low, median, high = np.quantile(samples, (0.25, 0.5, 0.75))
        time_us = float(np.quantile(samples, TIMING_QUANTILE))
        found: dict[str, Any] = {
            "time_us": time_us,
            "median_us": float(median),
            "noise": float((high - low) / 2 / median),
            "runs": len(samples),
        }
        if unit.flops is not None:
            found["gflops"] = unit.flops / time_us / 1e3
            if (peak := self._peak()) is not None:
                found["roofline_share"] = peak.least_us(unit.flops, unit.moved) / time_us
                found["peak_share"] = peak.least_us(unit.flops, 0) / time_us
        return found

    def _peak(self) -> Peak | None:
        """What this machine reaches, measured once; of GPUs it is not known."""
        if self._log.peak is None and shares_cores(self._options.device):
            self._log.calibrate(measure_peak())
        return self._log.peak

    def _folder(self, item: Item) -> Path:
        """Where it is kept if it fails."""
        return self._options.failures / f"{item.wanted.generated.name}--{item.name}"

    def _keep(self, item: Item, row: Row, stage: str, log: str) -> None:
        """Writes a folder that shows a failure."""
        operation = item.wanted.generated.operation
        outcome = Outcome(row.outcome, stage=stage, reason=row.reason, device=self._options.device)
        folder = self._folder(item)
        try:
            Reproducer(
                item.unit,
                item.spec or "",
                "",
                outcome,
                log,
                self._options.seed,
                operation,
            ).write(folder)
        except OSError as error:
            self._observer.note(f"{folder} cannot be written: {error.strerror}")


def _spec(generated: Generated, name: str) -> str | None:
    """The text of a configuration's spec; None for the compiler's default."""
    found = next((c for c in generated.configurations if c.name == name), None)
    if found is None:
        return None
    return read_bytes(generated.spec(found), "generate it again").decode(errors="replace")


def _unverified(asked: bool, foreign: bool) -> str:
    return UNKNOWN if asked and foreign else UNCHECKED
