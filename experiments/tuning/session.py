"""One session of a run: baseline, queue in ranker order, and what comes of it."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, replace
from typing import Any, cast

import pandas as pd

from ...benchmarks.compiling import Compiler, FailureReport, call_of
from ...benchmarks.measuring import (
    CRASHED,
    OK,
    Compiled,
    Course,
    Device,
    Finals,
    Outcome,
    wrong_finals,
    wrong_winner,
)
from ...benchmarks.runners import Candidate, CompileRunner, LocalRunner, Runner
from ...core import InputError, WorkError, read_limited
from ...models import AdaptiveRanker, resolve
from ...search import PIPELINE, Dispatch, spec_of
from ...search.gpu import CannotRender
from ..observing import Observer, Tracker
from ..queue import AdaptiveOrder, Order, QueueOrder, renderer
from .compile_result import CompileResult
from .finalists import Jury
from .folder import RunFolder, write_text
from .journal import Journal
from .options import TuneOptions
from .result import TuneResult

BASELINE_SECONDS = 0.25
BATCH_PER_JOB = 4

Result = TuneResult | CompileResult


class Session:
    """Works on a run until its budget is used up, then sums up; `tune` starts and resumes them."""

    def __init__(
        self,
        folder: RunFolder,
        options: TuneOptions,
        dispatch: Dispatch,
        queue: pd.DataFrame,
        observer: Observer,
        *,
        looks_back: bool,
        keep_valid: bool = False,
        tracked: bool = True,
    ) -> None:
        """
        Args:
            looks_back: whether the ranker orders anew what is left after each batch.
            keep_valid: whether outcomes that cannot be this run's are left out instead of refused.
            tracked: whether to be a run in MLflow.
        """
        self.folder = folder
        self.options = options
        self.dispatch = dispatch
        self.queue = queue
        self.observer = observer
        self.looks_back = looks_back
        self.keep_valid = keep_valid
        self.tracked = tracked
        self.started = time.monotonic()
        self.course = Course()
        self._render = renderer(dispatch, queue)
        self.report = FailureReport(
            dispatch,
            options.keep_failures or folder.failures,
            folder.logs,
            self._config,
            options.seed,
        )

    def finished(self) -> Result | None:
        """The result of a run that was complete and has no budget left, as it was found."""
        with self._open_journal() as journal:
            kind = CompileResult if self.options.compile_only else TuneResult
            result = kind.read(self.folder.result)
            for outcome in journal.outcomes.values():
                self.course.add(outcome)
            if result is not None and result.candidates == self.course.taken and self._stop():
                self._check(result, journal.outcomes)
                # Of a session that was killed when all but this was done.
                shutil.rmtree(self.folder.work, ignore_errors=True)
                if isinstance(result, CompileResult) and self.report.folder.is_dir():
                    return replace(result, failures=self.report.folder)
                return result
            self.course = Course()
            return None

    def _open_journal(self) -> Journal:
        journal = Journal(
            self.folder.journal,
            len(self.queue),
            self.options.devices or (),
            keep_valid=self.keep_valid,
        )
        if journal.left_out:
            self.observer.note(journal.left_out)
        return journal

    def _check(self, result: Result, outcomes: Mapping[int, Outcome]) -> None:
        """Refuses a result that does not follow from the log, or whose spec is not the winner's.

        Raises:
            InputError: naming what is wrong.
        """
        wrong = ""
        if Counter(o.kind for o in outcomes.values()) != Counter(result.outcomes):
            wrong = f"its outcomes are not those of {self.folder.journal.name}"
        elif isinstance(result, TuneResult):
            finals = Finals(result.finalists, result.baseline_us, result.noise_floor)
            wrong = wrong_finals(finals, outcomes)
            winner = next((s for s in finals.standings if s.index + 1 == result.winner), None)
            if winner is not None and not wrong:
                wrong = wrong_winner(winner, finals) or self._wrong_spec(winner.index)
        if wrong:
            raise InputError(
                f"{self.folder.result} does not follow from the run: {wrong}",
                "remove it, and resume the run",
            )

    def _wrong_spec(self, winner: int) -> str:
        """What is wrong with the spec's file, in words; empty if nothing is."""
        written = read_limited(self.folder.spec, "resume the run").decode(errors="replace")
        due = spec_of(self.dispatch, self._render(winner))
        # A comment says what to expect of it.
        found = "\n".join(s for s in written.splitlines() if not s.lstrip().startswith("//"))
        return "" if found == due.rstrip("\n") else f"{self.folder.spec.name} is not the winner's"

    def run(self) -> Result:
        with ExitStack() as stack:
            self.journal = stack.enter_context(self._open_journal())
            self.tracker = stack.enter_context(Tracker(warn=self.observer.note))
            if self.tracked:
                self.tracker.start(self.folder.path.name, self._params(), self._tags())
            # What an earlier session compiled is not run: a file there could be anything.
            shutil.rmtree(self.folder.work, ignore_errors=True)
            self.folder.work.mkdir()
            self.compiler = stack.enter_context(
                Compiler(self.dispatch, self.folder.work, self.options.jobs)
            )
            self.observer.phase("trying the compiler's default")
            baseline = self.compiler.baseline()
            if baseline.kind != OK:
                raise WorkError(
                    f"the compiler's default does not compile: {baseline.reason}",
                    "see that iree-compile accepts the input",
                )
            if self.options.compile_only:
                result: Result = self._compile(baseline)
            else:
                result = self._tune(baseline, stack)
            write_text(self.folder.result, result.to_json())
            self._track(result)
        shutil.rmtree(self.folder.work, ignore_errors=True)
        return result

    def _compile(self, baseline: Compiled) -> CompileResult:
        """Takes candidates without measuring any."""
        known, logs = self.journal.outcomes, self.folder.logs
        runner = CompileRunner(self.dispatch, self.compiler, baseline, known, logs)
        stopped = self._take(runner, None)
        return CompileResult.build(
            known,
            list(self.queue[PIPELINE]),
            failures=self.report.folder,
            run=self.folder.path,
            stopped=stopped,
            seconds=time.monotonic() - self.started,
        )

    def _tune(self, baseline: Compiled, stack: ExitStack) -> TuneResult:
        """Takes candidates, measures the best again and writes the spec of the winner."""
        devices = [self._device(uri, baseline, stack) for uri in self.options.devices or ()]
        self.observer.baseline(devices[0].measure_baseline(BASELINE_SECONDS))
        known, logs = self.journal.outcomes, self.folder.logs
        runner = LocalRunner(self.dispatch, self.compiler, devices, baseline, known, logs)
        stopped = self._take(runner, devices[0].baseline_us)
        jury = Jury(
            self.folder, self.dispatch, self._config, self.compiler, baseline, self.observer
        )
        finals, winner = jury.decide(devices, known, self.options.seed)
        if winner is None:
            self.folder.spec.unlink(missing_ok=True)
        else:
            write_text(self.folder.spec, jury.spec(winner, finals, devices))
        return TuneResult.build(
            known,
            finals,
            winner,
            spec=self.folder.spec,
            run=self.folder.path,
            stopped=stopped,
            seconds=time.monotonic() - self.started,
        )

    def _device(self, uri: str, baseline: Compiled, stack: ExitStack) -> Device:
        device = Device(uri, call_of(self.dispatch), baseline.executable, self.options.seed)
        stack.callback(device.close)
        device.start()
        return device

    def _stop(self) -> str | None:
        """Why no more candidates are taken, in words; None to go on."""
        elapsed = time.monotonic() - self.started
        return self.options.budget.stops(self.course, len(self.queue), elapsed)

    def _take(self, runner: Runner, baseline_us: float | None) -> str:
        """Takes candidates from the queue until the budget is used up; tells which limit it was.

        Args:
            baseline_us: None where nothing is measured.
        """
        budget, journal = self.options.budget, self.journal
        most = BATCH_PER_JOB * self.compiler.jobs
        self.observer.start(budget.candidates or len(self.queue), budget.seconds)
        for outcome in journal.outcomes.values():
            self._show(outcome, baseline_us)
        order = self._order()
        while not (stopped := self._stop()):
            batch = []
            for index in order.next(journal.outcomes, budget.room(self.course.taken, most)):
                try:
                    batch.append(Candidate(index, self._render(index)))
                except CannotRender as failure:
                    outcome = Outcome(CRASHED, stage="compile", reason=str(failure))
                    journal.append(index, outcome)
                    self._show(outcome, baseline_us)
            try:
                for candidate, outcome in runner.run(batch, lambda: not self._stop()):
                    journal.append(candidate.index, outcome)
                    self._show(outcome, baseline_us)
            finally:
                with suppress(OSError):  # tried again, and told, at the end
                    self.report.write(journal.outcomes)
        try:
            self.report.write(journal.outcomes)
        except OSError as error:
            self.observer.note(f"the report of failures is not complete: {error}")
        return stopped

    def _order(self) -> Order:
        if not self.looks_back:
            return QueueOrder(len(self.queue))
        seed = self.options.seed
        ranker = cast(AdaptiveRanker, resolve(self.options.ranker or "", seed))
        return AdaptiveOrder.over(self.queue, self.dispatch, ranker, seed)

    def _show(self, outcome: Outcome, baseline_us: float | None) -> None:
        """Counts an outcome, and tells the user and MLflow."""
        course = self.course
        course.add(outcome)
        best_us = None
        if baseline_us is not None:
            reached = min(1.0, course.best or 1.0)
            self.tracker.metric("best_so_far_relative", reached, course.taken)
            self.tracker.metric("best_so_far_us", reached * baseline_us, course.taken)
            best_us = None if course.best is None else course.best * baseline_us
        twin = outcome.kind == OK and outcome.same_as is not None
        self.observer.outcome("duplicate" if twin else outcome.kind, best_us)

    def _config(self, index: int) -> str:
        """For people and reproducers: a configuration, or why there is none."""
        try:
            return self._render(index)
        except CannotRender as failure:
            return f"// {failure}"

    def _params(self) -> dict[str, Any]:
        options = asdict(self.options)
        budget = options.pop("budget")
        sizes = {f"dim_{d.name}": d.size for d in self.dispatch.problem.dims}
        return {**options, **{f"budget_{k}": v for k, v in budget.items()}, **sizes}

    def _tags(self) -> dict[str, str]:
        problem, target = self.dispatch.problem, self.dispatch.target
        mode = "compile_only" if self.options.compile_only else "tune"
        return {"problem": problem.label, "kind": problem.kind, "arch": target.arch, "mode": mode}

    def _track(self, result: Result) -> None:
        for path in (self.folder.spec, self.folder.journal, self.folder.result):
            if path.exists():
                self.tracker.artifact(path)
        self.tracker.finish(metrics=result.metrics())
