"""Takes back what was measured elsewhere: as a finished tuning run, or as a recording."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from .. import __version__
from ..benchmarks.budget import Budget
from ..benchmarks.bundle import Bundle
from ..benchmarks.checks import check_results
from ..benchmarks.compiling import Compiler, unless_killed
from ..benchmarks.failures import FailureReport
from ..benchmarks.finals import Standing
from ..benchmarks.outcome import OK, Outcome
from ..benchmarks.results import Measurements, Verdict, read_results
from ..search import Dispatch, InputError, WorkError
from ..search.spec import spec_of
from .candidates import renderer, with_derived
from .journal import Journal
from .jury import expectation
from .recording import Drawn, Provenance, Recording
from .result import TuneResult
from .run_folder import RunFolder, read_run_files, write_text


@dataclass(frozen=True)
class Ingest:
    """A bundle with the results of measuring it.

    Attributes:
        run: what the run's folder would say about how it was started.
    """

    bundle: Bundle
    measured: Measurements
    run: dict[str, Any]
    dispatch: Dispatch
    queue: pd.DataFrame

    @classmethod
    def read(cls, bundle_path: Path, results: Path) -> Ingest:
        """Checks that both are whole and belong together.

        Raises:
            InputError: they are not, or were made by another version.
        """
        bundle = Bundle(bundle_path)
        measured = read_results(results)
        if measured.header.bundle != bundle.digest:
            raise InputError(
                f"{results} holds the results of another bundle ({measured.header.bundle[:16]}), "
                f"not of {bundle_path} ({bundle.digest[:16]})",
                "give the bundle that was run",
            )
        check_results(results, bundle, measured)
        try:
            run, dispatch, queue = read_run_files(lambda n: bundle.read(f"run/{n}"), bundle_path)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{bundle_path} does not describe a run ({type(error).__name__})", "pack it anew"
            ) from error
        return cls(bundle, measured, run, dispatch, queue)

    @cached_property
    def config(self) -> Callable[[int], str]:
        """Renders the `compilation_info` of a queue position."""
        return renderer(self.dispatch, self.queue)

    def recording(self, compile_s: Sequence[float] | None = None) -> Recording:
        """What was measured so far, also if the run has not ended.

        Args:
            compile_s: what compiling took, by queue position; None if that is not known any more.
        """
        header, verdict = self.measured.header, self.measured.verdict
        options = self.run["options"]
        extras = {name: tuple(values) for name, values in options["extras"].items()}
        provenance = Provenance(
            problem=self.dispatch.problem,
            target=self.dispatch.target,
            devices=dict(zip(header.uris, header.devices, strict=True)),
            compiler=self.bundle.manifest.compiler,
            runtime=header.runtime,
            seed=self.bundle.manifest.seed,
            noise_floor=None if verdict is None else verdict.finals.noise_floor,
            created_by=f"frontrunner {__version__}",
            drawn=Drawn(options["pipeline"], extras),
        )
        outcomes = {
            index: replace(outcome, compile_s=math.nan if compile_s is None else compile_s[index])
            for index, outcome in self.measured.outcomes.items()
        }
        queue = with_derived(self.dispatch, self.queue)
        return Recording.build(queue, outcomes, provenance, self.measured.repeats)

    def finish(self, folder: RunFolder) -> TuneResult:
        """Makes the folder of a finished tuning run.

        Raises:
            InputError: the run has not ended, or the folder cannot be written.
            WorkError: the winner's spec does not make the executable that was measured, or the
                compiler was killed.
        """
        verdict = self.measured.verdict
        if verdict is None:
            raise InputError(
                f"the run of {self.bundle.path} has not ended: there are "
                f"{len(self.measured.outcomes)} outcomes and no finals",
                "run the bundle again with the same --out, or ingest into a .parquet file",
            )
        header = self.measured.header
        spec = None if verdict.winner is None else self._spec(verdict.winner, verdict)
        options = {**self.run["options"], "devices": header.uris}
        manifest = {
            **{k: v for k, v in self.run.items() if k not in ("dispatch", "versions")},
            "options": options,
            "budget": asdict(Budget(candidates=verdict.candidates)),
            "devices": header.devices,
            "measured_by": {"bundle": header.bundle, "iree-base-runtime": header.runtime},
        }
        folder.create(manifest, self.dispatch, self.queue)
        with Journal(folder.journal) as journal:
            for index, outcome in sorted(self.measured.outcomes.items()):
                journal.append(index, outcome)
            self._report(folder, journal.outcomes)
            if spec is not None:
                write_text(folder.spec, spec)
            result = TuneResult.build(
                journal.outcomes,
                verdict.finals,
                verdict.winner,
                spec=folder.spec,
                run=folder.path,
                stopped=verdict.stopped,
                seconds=verdict.seconds,
            )
        write_text(folder.result, result.to_json())
        return result

    def _spec(self, winner: Standing, verdict: Verdict) -> str:
        """The winner's tuning spec, compiled as it is written: it must be what was measured."""
        comment = expectation(winner, verdict.finals, self.measured.header.devices)
        spec = spec_of(self.dispatch, self.config(winner.index), comment)
        with (
            tempfile.TemporaryDirectory() as name,
            Compiler(self.dispatch, Path(name), jobs=1) as compiler,
        ):
            (compiled,) = compiler.compile([("winner", spec)])
        unless_killed(compiled, "the winner's spec")
        measured = self.bundle.manifest.queue[winner.index].digest
        if compiled.kind != OK or compiled.digest != measured:
            raise WorkError(
                f"the winner's spec does not make the executable that was measured "
                f"({compiled.reason or compiled.digest}, expected {measured})",
                "pack and measure anew with this version of frontrunner",
            )
        return spec

    def _report(self, folder: RunFolder, outcomes: Mapping[int, Outcome]) -> None:
        seed = self.bundle.manifest.seed
        report = FailureReport(self.dispatch, folder.failures, folder.logs, self.config, seed)
        with suppress(OSError):  # a reproducer less must not cost the results
            report.write(outcomes)
