"""The bench that dispatches are profiled on: processes that read, compile, run and compare."""

from __future__ import annotations

import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Self

import numpy as np

from ...benchmarks.cluster import DevicePool, HostLost, KeptDevice
from ...benchmarks.compiling import CompileJob, CompilePool, Reproducer, RunnableModule, write_crash
from ...benchmarks.libraries import Peak, measure_peak
from ...benchmarks.measuring import (
    CRASHED,
    DISPATCH_SECONDS,
    KILLED,
    OK,
    TIMING_QUANTILE,
    WRONG_RESULT,
    CompileOutcome,
    Device,
    MeasureRequest,
    Outcome,
    RunFailed,
    shares_cores,
)
from ...benchmarks.verifying import Call
from ...core import (
    ChildPool,
    CompilerCrashedError,
    InputError,
    KilledError,
    WorkError,
    first_line,
    physical_cores,
    write_atomically,
)
from ...search import target_flags
from ...search.reading import READER
from ..observing import Observer
from .libraries import Libraries
from .log import (
    DEFAULT,
    FAILED,
    IREE,
    NOT_RUN,
    PASSED,
    REFUSED,
    UNCHECKED,
    UNKNOWN,
    ProfileLog,
    Row,
)
from .modules import read_module
from .options import ProfileOptions
from .rows import PlannedRows


@dataclass(frozen=True)
class ConfiguredDispatch:
    """A configuration that is compiled and measured.

    Attributes:
        spec: None for the compiler's default.
    """

    planned: PlannedRows
    module: RunnableModule
    name: str
    spec: str | None


class Bench:
    """Compiles, verifies and times dispatches, and logs one row per configuration and library.

    A chunk is compiled on all cores first and measured afterwards, with nothing else running.
    """

    def __init__(self, options: ProfileOptions, log: ProfileLog, observer: Observer) -> None:
        self._options, self._log, self._observer = options, log, observer
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        options = self._options
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        # As many threads as the device has; `local-sync` has one.
        self._device_threads = 1 if options.device.startswith("local-sync") else physical_cores()
        self._readers = self._stack.enter_context(ChildPool(READER, options.jobs))
        cluster = options.cluster
        self._compilers = self._stack.enter_context(
            CompilePool(
                folder, options.jobs, tries=2, children=cluster.compilers() if cluster else ()
            )
        )
        names = (options.device,) if cluster is None else cluster.names
        self._devices = DevicePool(names, self._connect, self._observer.notify)
        # One for each device; this machine's only one has its cores to itself while it measures.
        self._threads = self._stack.enter_context(ThreadPoolExecutor(len(names)))
        self._ended = False
        # Before threads are waited for: one may have minutes left with a kernel that hangs.
        self._stack.callback(self._end)
        self._libraries = self._stack.enter_context(
            Libraries(options.libraries, self._device_threads)
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _end(self) -> None:
        self._ended = True
        self._devices.close()

    def run(self, chunk: Sequence[PlannedRows]) -> None:
        """Makes all rows of some dispatches."""
        for one in chunk:
            for name in one.names:  # of an earlier failure
                shutil.rmtree(self._folder(one, name), ignore_errors=True)
        modules: dict[str, RunnableModule] = {}
        items: list[ConfiguredDispatch] = []
        read = partial(read_module, self._options)
        found_modules = self._readers.map(read, chunk, lambda _, error: error)
        for one, found in zip(chunk, found_modules, strict=True):
            if isinstance(found, InputError | KilledError):
                self._refuse(one, found)
                continue
            modules[one.generated.name] = found
            items += [ConfiguredDispatch(one, found, name, one.spec(name)) for name in one.names]
        jobs = [
            CompileJob(f"{at:04d}", item.module.source, item.module.flags, item.spec)
            for at, item in enumerate(items)
        ]
        compiled: Iterable[CompileOutcome] = self._compilers.compile_jobs(jobs)
        if self._options.cluster is None:
            compiled = list(compiled)
        self._observer.on_phase("measuring")
        self._measure_all(items, compiled)
        for one in chunk:
            if (module := modules.get(one.generated.name)) is not None:
                for library in one.libraries:
                    self._log.append(self._compared(one, module, library))

    def _measure_all(
        self, items: Sequence[ConfiguredDispatch], compiled: Iterable[CompileOutcome]
    ) -> None:
        """Logs rows as they are measured; devices take dispatches as these are compiled."""

        def measure(configurations: Sequence[tuple[ConfiguredDispatch, CompileOutcome]]) -> None:
            with self._devices.keeping() as kept:  # times of two devices do not compare
                for item, executable in configurations:
                    row = self._measured(item, executable, kept)
                    self._keep_module(item, executable)
                    executable.executable.unlink(missing_ok=True)
                    self._log.append(row)

        # Not `map`, which would wait for all that is compiled.
        coming: deque[Future[None]] = deque()
        try:
            every = zip(items, compiled, strict=True)
            for _, some in groupby(every, lambda pair: pair[0].planned.generated.name):
                coming.append(self._threads.submit(measure, list(some)))
                while coming and coming[0].done():
                    coming.popleft().result()
            while coming:
                coming.popleft().result()
        finally:
            for left in coming:
                left.cancel()

    def _refuse(self, one: PlannedRows, error: InputError | KilledError) -> None:
        """Logs the rows of what cannot be read; a crash of the compiler is kept."""
        outcome = KILLED if isinstance(error, KilledError) else REFUSED
        for (_, name, provider), _ in one.rows():
            reason = str(error).replace(str(one.generated.path), "it")  # rows name it already
            self._log.append(one.row(name, provider, outcome=outcome, reason=reason))
        if isinstance(error, CompilerCrashedError):
            asked = self._options
            options = (*target_flags(asked.target), *asked.iree_flags, "-o", "module.vmfb")
            folder = self._folder(one, DEFAULT)
            shutil.rmtree(folder, ignore_errors=True)
            self._keep(folder, partial(write_crash, one.generated.read(), options, str(error)))

    def _measured(
        self, item: ConfiguredDispatch, compiled: CompileOutcome, kept: KeptDevice
    ) -> Row:
        """The row of a configuration, after keeping what shows why it failed."""
        operation = item.planned.generated.operation
        verify = self._options.verify and operation is not None
        row = item.planned.row(
            item.name,
            IREE,
            outcome=compiled.kind,
            # Without the folder that it was compiled in, which has another name each time.
            reason=compiled.reason.replace(f"{compiled.executable.parent}/", ""),
            compile_s=round(compiled.seconds, 3),
            executable=compiled.digest if compiled.kind == OK else "",
        )
        stage, log = "compile", compiled.log
        if compiled.kind == OK and self._options.compile_only:
            return replace(row, verification=UNCHECKED)
        if compiled.kind == OK:
            checked = PASSED if verify else UNKNOWN if self._options.verify else UNCHECKED
            seconds = DISPATCH_SECONDS if self._options.measure else 0.0
            try:
                request = MeasureRequest(compiled.executable, seconds, verify=verify)

                refused: list[str] = []

                def start(device: Device) -> None:
                    try:
                        device.switch_dispatch(item.module.call, operation if verify else None)
                    except WorkError as error:
                        if isinstance(error, HostLost) or refused or not self._options.cluster:
                            raise
                        # It may be the device: it rests for a while, and another one is asked.
                        refused.append(device.name)
                        raise HostLost(first_line(error)) from error

                samples = self._devices.run(lambda d: d.measure_samples(request), start, kept)
                figures = self._figures(item.module, samples) if seconds else {}
                on = kept.name if self._options.cluster else ""
                return replace(row, verification=checked, measured_on=on, **figures)
            except RunFailed as failure:
                if self._ended:
                    raise
                row = _failed(row, failure)
                stage, log = "run", str(failure.__cause__ or "")
            except HostLost:
                raise
            except (WorkError, InputError) as error:
                if self._ended:
                    raise
                # The device answered before: it has no room for this, or does not know its types.
                kind = KILLED if isinstance(error, KilledError) else CRASHED
                return replace(row, outcome=kind, reason=str(error))
        if row.outcome == KILLED:
            return row  # there is nothing to reproduce
        outcome = Outcome(row.outcome, stage=stage, reason=row.reason, device=self._options.device)
        seed = self._options.seed
        shown = Reproducer(item.module, item.spec, None, outcome, log, seed, operation)
        self._keep(self._folder(item.planned, item.name), shown.write)
        return row

    def _keep_module(self, item: ConfiguredDispatch, compiled: CompileOutcome) -> None:
        """Keeps what was compiled, or what the compiler said, beside the dispatch."""
        if not self._options.keep_vmfb:
            return
        module = item.planned.generated.module(item.name)
        log = module.with_suffix(".log")
        try:
            module.unlink(missing_ok=True)
            log.unlink(missing_ok=True)
            if compiled.kind == OK:
                write_atomically(module, compiled.executable.read_bytes())
            else:
                write_atomically(log, f"{compiled.reason}\n{compiled.log}\n".encode())
        except (OSError, WorkError) as error:
            self._observer.notify(f"{module} is not kept: {first_line(error)}")

    def _compared(self, one: PlannedRows, module: RunnableModule, library: str) -> Row:
        """The row of another library."""
        operation, verify = one.generated.operation, self._options.verify
        assert operation is not None
        row = one.row(DEFAULT, library, outcome=OK)
        try:
            samples = self._libraries.time(
                library, operation, self._options.seed, DISPATCH_SECONDS, verify=verify
            )
        except RunFailed as failure:
            return _failed(row, failure)
        checked = PASSED if verify else UNCHECKED
        return replace(row, verification=checked, **self._figures(module, samples))

    def _connect(self, name: str) -> Device:
        """A device that is told what it measures when it does."""
        cluster, nothing, seed = self._options.cluster, Call("", (), (), 0), self._options.seed
        if cluster is None:
            return Device(name, nothing, None, seed)
        return cluster.connect(name, nothing, None, seed)

    def _figures(self, module: RunnableModule, samples: Sequence[float]) -> dict[str, Any]:
        """The columns of a row that follow from its times."""
        low, median, high = np.quantile(samples, (0.25, 0.5, 0.75))
        time_us = float(np.quantile(samples, TIMING_QUANTILE))
        found: dict[str, Any] = {
            "time_us": time_us,
            "median_us": float(median),
            "noise": float((high - low) / 2 / median),
            "runs": len(samples),
        }
        if module.flops is not None:
            found["gflops"] = module.flops / time_us / 1e3
            if (peak := self._peak()) is not None:
                found["roofline_share"] = peak.least_us(module.flops, module.bytes_moved) / time_us
                found["peak_share"] = peak.least_us(module.flops, 0) / time_us
        return found

    def _peak(self) -> Peak | None:
        """What this machine reaches, measured once; of GPUs and other hosts it is not known."""
        here = self._options.cluster is None and shares_cores(self._options.device)
        if self._log.peak is None and here:
            self._log.calibrate(measure_peak(self._device_threads))
        return self._log.peak

    def _folder(self, one: PlannedRows, name: str) -> Path:
        """Where it is kept if it fails."""
        return self._options.failures / f"{one.generated.name}--{name}"

    def _keep(self, folder: Path, write: Callable[[Path], None]) -> None:
        """Writes a failure's folder."""
        try:
            write(folder)
        except OSError as error:
            self._observer.notify(f"{folder} cannot be written: {error.strerror}")


def _failed(row: Row, failure: RunFailed) -> Row:
    wrong = FAILED if failure.kind == WRONG_RESULT else NOT_RUN
    return replace(row, verification=wrong, outcome=failure.kind, reason=str(failure))
