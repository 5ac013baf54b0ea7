"""Takes back what was measured elsewhere: as a finished tuning run, or as a recording."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ... import __version__
from ...benchmarks.bundle import Bundle, BundleResult, Measurements, read_results
from ...benchmarks.compiling import Compiler, FailureReport, raise_if_killed
from ...benchmarks.measuring import OK, Budget, FinalistResult, Outcome
from ...core import InputError, WorkError
from ...models import default_ranker
from ...search import spec_of
from ..dataset import ORIGIN, UNIFORM, Provenance, Recording, SampledFrom, timing_of, top_of
from ..queue import explained, renderer, with_derived
from ..tuning import (
    RunFolder,
    RunSetup,
    TuneResult,
    expectation_comment,
    read_run_files,
    run_files,
)
from .selection import SHUFFLE, ranker_label


@dataclass(frozen=True)
class IngestedBundle:
    """A bundle with the results of measuring it.

    Attributes:
        run: what the run's folder would start with.
    """

    bundle: Bundle
    measured: Measurements
    run: RunSetup

    @classmethod
    def read(
        cls,
        bundle_path: Path,
        results: Path,
        iree_flags: Sequence[str] = (),
        *,
        keep_valid: bool = False,
    ) -> IngestedBundle:
        """Checks that both are whole and belong together.

        Args:
            iree_flags: further ones that the bundle was compiled with.
            keep_valid: whether lines that were not written by running the bundle are left out.

        Raises:
            InputError: they are not, or were made by another version.
        """
        bundle = Bundle(bundle_path)
        measured = read_results(results, bundle.manifest.queue, keep_valid=keep_valid)
        if measured.header.bundle != bundle.digest:
            raise InputError(
                f"{results} holds the results of another bundle ({measured.header.bundle[:16]}), "
                f"not of {bundle_path} ({bundle.digest[:16]})",
                "give the bundle that was run",
            )
        run = read_run_files(lambda n: bundle.read(f"run/{n}"), bundle_path, iree_flags)
        if len(run.queue) < len(bundle.manifest.queue):
            raise InputError(
                f"{bundle_path} has {len(bundle.manifest.queue)} executables for a queue of "
                f"{len(run.queue)} candidates",
                "pack it anew",
            )
        return cls(bundle, measured, run)

    @cached_property
    def render_config(self) -> Callable[[int], str]:
        """Renders the `compilation_info` of a queue position."""
        return renderer(self.run.dispatch, self.run.queue)

    def to_recording(
        self,
        compile_s: Sequence[float] | None = None,
        origins: Sequence[str] | None = None,
        drawn: SampledFrom | None = None,
    ) -> Recording:
        """What was measured so far, also if the run has not ended.

        Args:
            compile_s: what compiling took, by queue position; None if that is not known any more.
            origins: how candidates came in, by queue position; as the head of the ranker's order if
                None.
            drawn: what they were chosen from, and how; as of a tuning run if None.
        """
        header, verdict = self.measured.header, self.measured.result
        options, dispatch = self.run.manifest.options, self.run.dispatch
        provenance = Provenance(
            problem=dispatch.problem,
            target=dispatch.target,
            devices=dict(zip(header.uris, header.devices, strict=True)),
            compiler=self.bundle.manifest.compiler,
            runtime=header.runtime,
            seed=self.bundle.manifest.seed,
            noise_floor=None if verdict is None else verdict.finals.noise_floor,
            created_by=f"frontrunner {__version__}",
            timing=timing_of(self.bundle.manifest.call.repeats),
            drawn=drawn or SampledFrom(options.pipeline, dict(options.extras), options.pool),
        )
        outcomes = {
            index: replace(outcome, compile_s=math.nan if compile_s is None else compile_s[index])
            for index, outcome in self.measured.outcomes.items()
        }
        queue = with_derived(dispatch, self.run.queue).assign(
            **{ORIGIN: self._origin if origins is None else origins}
        )
        return Recording.build(queue, outcomes, provenance, self.measured.repeats)

    @property
    def _origin(self) -> str:
        """Of all candidates of a tuning run's queue."""
        ranker = self.run.manifest.options.ranker or default_ranker(self.run.dispatch.target)
        return UNIFORM if ranker == SHUFFLE else top_of(ranker_label(ranker))

    def write_run(self, path: Path) -> TuneResult:
        """Makes the folder of a finished tuning run, a new one or in an empty one.

        Raises:
            InputError: the run has not ended, or the folder cannot be written.
            WorkError: the winner's spec does not make the executable that was measured, or the
                compiler was killed.
        """
        verdict = self.measured.result
        if verdict is None:
            raise InputError(
                f"the run of {self.bundle.path} has not ended: there are "
                f"{len(self.measured.outcomes)} outcomes and no finals",
                "run the bundle again with the same --out, or ingest into a .parquet file",
            )
        header = self.measured.header
        spec = None if verdict.winner is None else self._spec(verdict.winner, verdict)
        manifest = replace(
            self.run.manifest,
            options=replace(
                self.run.manifest.options,
                devices=header.uris,
                budget=Budget(candidates=verdict.candidates),
            ),
            devices=header.devices,
            measured_by={"bundle": header.bundle, "iree-base-runtime": header.runtime},
        )
        folder = RunFolder(path)
        outcomes = dict(sorted(self.measured.outcomes.items()))
        result = TuneResult.build(
            self.run,
            outcomes,
            verdict.finals,
            verdict.winner,
            winner_file=folder.spec,
            run=path,
            stopped=verdict.stopped,
            seconds=verdict.seconds,
        )
        # All at once: what was measured elsewhere cannot be gone on with here.
        log = "".join(json.dumps(o.to_record(index)) + "\n" for index, o in outcomes.items())
        files = run_files(replace(self.run, manifest=manifest))
        files[folder.journal.name] = log.encode()
        files[folder.result.name] = result.to_json().encode()
        if spec is not None:
            files[folder.spec.name] = spec.encode()
        RunFolder.create(path, path.name, files)
        self._report(folder, outcomes)
        return result

    def _spec(self, winner: FinalistResult, verdict: BundleResult) -> str:
        """The winner's tuning spec, compiled as it is written: it must be what was measured."""
        flags = self.run.dispatch.target.iree_flags
        comment = expectation_comment(winner, verdict.finals, self.measured.header.devices, flags)
        spec = spec_of(self.run.dispatch, self.render_config(winner.index), comment).text()
        with (
            tempfile.TemporaryDirectory() as name,
            Compiler(self.run.dispatch, Path(name), jobs=1) as compiler,
        ):
            (compiled,) = compiler.compile([("winner", spec)])
        raise_if_killed(compiled, "the winner's spec")
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
        report = FailureReport(
            self.run.dispatch, folder.failures, folder.logs, explained(self.render_config), seed
        )
        with suppress(OSError, WorkError):  # a reproducer less must not cost the results
            report.write(outcomes)
