"""One session of a run: baseline, queue in ranker order, and what comes of it."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext, suppress
from dataclasses import asdict, replace
from functools import cache, partial
from typing import Any, cast

from ...benchmarks.compiling import FailureReport
from ...benchmarks.measuring import (
    OK,
    BudgetStopping,
    CandidateOrder,
    FinalistResult,
    Finals,
    MeasuringRunner,
    Outcome,
    QueueOrder,
    Runner,
    RunProgress,
    finals_error,
    search,
    settle,
    winner_error,
)
from ...benchmarks.runners import ExecutableRunner
from ...core import FrontrunnerError, InputError
from ...models import AdaptiveRanker, resolve_ranker
from ...search import PIPELINE, Dispatch, executable_pipeline
from ..observing import Observer, Tracker
from ..queue import AdaptiveOrder, Configuration, explained, renderer
from .compile_result import CompileResult
from .folder import RunFolder, write_text
from .journal import Journal
from .manifest import RunSetup
from .options import TuneOptions
from .result import TuneResult, expectation_comment
from .stage_judges import Judge, command_judge, model_judge
from .stage_log import StageLog
from .stages import USUAL_STAGES, Stage
from .staging import Staging
from .winning import Winning, WinningExecutable, WinningSpec, set_aside

Result = TuneResult | CompileResult
# Of a run's folder, its options, and the `compilation_info` of a queue position.
MakeRunner = Callable[[RunFolder, TuneOptions, Dispatch, Callable[[int], str]], Runner]


class Session:
    """Works on a run until its budget is used up, then sums up."""

    def __init__(
        self,
        folder: RunFolder,
        options: TuneOptions,
        run: RunSetup,
        make_runner: MakeRunner,
        observer: Observer,
        *,
        on_begin: Callable[[], None] = lambda: None,
        keep_valid: bool = False,
        tracked: bool = True,
    ) -> None:
        """
        Args:
            options: of this session, with what the folder does not hold.
            run: what it works on, as it stands in the folder once it has begun.
            make_runner: makes what says what becomes of candidates.
            on_begin: called when no other process works in the folder.
            keep_valid: whether outcomes that cannot be this run's are left out instead of refused.
            tracked: whether to be a run in MLflow.
        """
        self.folder = folder
        self.options = options
        self.setup = run
        self.dispatch, self.queue = run.dispatch, run.queue
        self.make_runner = make_runner
        self.observer = observer
        # Whether the ranker orders anew what is left after each batch.
        self.looks_back = run.manifest.looks_back
        self.on_begin = on_begin
        self.keep_valid = keep_valid
        self.tracked = tracked
        self.limits = BudgetStopping(options.budget, len(run.queue))
        self.render_config = renderer(run.dispatch, run.queue)
        self.winning: Winning = WinningSpec(folder, run.dispatch, self.render_config)
        self.report: FailureReport | None = FailureReport(
            run.dispatch,
            options.keep_failures or folder.failures,
            folder.logs,
            explained(self.render_config),
            options.seed,
        )
        if executable_pipeline(options.pipeline) is not None:
            self.winning = WinningExecutable(folder)
            self.report = None  # it tells what IREE's compiler got wrong

    def read_finished(self) -> Result | None:
        """The result of a run that was complete and has no budget left, as it was found."""
        with self._open_journal() as journal:
            kind = CompileResult if self.options.compile_only else TuneResult
            result = kind.read(self.folder.result)
            course = RunProgress.of(journal.outcomes.values())
            if result is None or result.candidates != course.taken:
                return None
            if not self.limits.stop_reason(course):
                return None
            self._check(result, journal.outcomes)
            # Of a session that was killed when all but this was done.
            shutil.rmtree(self.folder.work, ignore_errors=True)
            if self.options.keep_failures is not None:
                self._write_report(journal)
            if isinstance(result, CompileResult) and self.report and self.report.folder.is_dir():
                return replace(result, failures=self.report.folder)
            return result

    def _open_journal(self) -> Journal:
        journal = Journal(
            self.folder.journal,
            len(self.queue),
            None if self.setup.manifest.on_cluster else self.options.devices or (),
            keep_valid=self.keep_valid,
            timed=True,
        )
        if journal.left_out:
            self.observer.notify(journal.left_out)
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
            finals = result.finals
            wrong = finals_error(finals, outcomes)
            winner = next((s for s in finals.standings if s.index + 1 == result.winner), None)
            if winner is not None and not wrong:
                wrong = winner_error(winner, finals) or self.winning.wrong(
                    winner.index, outcomes[winner.index]
                )
                due = Configuration.of_candidate(self.queue, winner.index)
                # Older versions wrote none.
                if result.configuration not in (None, due):
                    wrong = f"its knobs are not those of candidate {result.winner}"
            for one, told in zip(finals.standings, result.configurations, strict=False):
                if not wrong and told != Configuration.of_candidate(self.queue, one.index):
                    wrong = f"its knobs are not those of candidate {one.index + 1}"
        if wrong:
            raise InputError(
                f"{self.folder.result} does not follow from the run: {wrong}",
                "remove it, and resume the run",
            )

    def run(self) -> Result:
        with ExitStack() as stack:
            self.journal = stack.enter_context(self._open_journal())
            self.on_begin()
            self.tracker = stack.enter_context(Tracker(notify=self.observer.notify))
            if self.tracked:
                self.tracker.start(self.folder.path.name, self._params(), self._tags())
            runner = self.make_runner(self.folder, self.options, self.dispatch, self.render_config)
            with closing(runner):
                self.observer.on_phase("trying the compiler's default")
                times_us = runner.start(self.journal.outcomes)
                if times_us and isinstance(runner, MeasuringRunner):
                    result: Result = self._tune(runner, next(iter(times_us.values())))
                else:
                    result = self._compile(runner)
                write_text(self.folder.result, result.to_json())
                if self.tracked:
                    self.tracker.log_page(self.folder.path)
                self._track(result)
            shutil.rmtree(self.folder.work, ignore_errors=True)
        return result

    def _compile(self, runner: Runner) -> CompileResult:
        """Takes candidates without measuring any."""
        stopped = self._take(runner, None)
        outcomes = self.journal.outcomes
        return CompileResult.build(
            outcomes,
            dict(zip(outcomes, self.queue[PIPELINE].iloc[list(outcomes)], strict=True)),
            failures=self.report.folder if self.report else None,
            run=self.folder.path,
            stopped=stopped,
            seconds=self.journal.seconds,
        )

    def _tune(self, runner: MeasuringRunner, baseline_us: float) -> TuneResult:
        """Takes candidates, measures the best again and writes the spec of the winner."""
        self.observer.on_baseline(baseline_us)
        stopped = self._take(runner, baseline_us)
        known = self.journal.outcomes

        @cache  # what is verified is written as it is, and a text takes half a second
        def spec(standing: FinalistResult, finals: Finals) -> str:
            self.tracker.prepare()  # what is left to be done is verification
            flags = self.options.iree_flags
            comment = expectation_comment(standing, finals, runner.fingerprints, flags)
            return self.winning.spec(standing.index, comment)

        on_phase = self.observer.on_phase
        judged = any(stage.brought for stage in self.options.stages)
        notify = self.observer.notify
        log_of_stages = partial(StageLog, self.folder.stages, notify, keep_valid=self.keep_valid)
        with closing(log_of_stages()) if judged else nullcontext() as log:
            judge = partial(self._open_judge, runner)
            staging = Staging(runner, known, baseline_us, log, judge, on_phase, notify)
            left, stages = staging.run(self.options.stages)
        finals, winner = settle(runner, left, spec, on_phase, notify)
        if winner is None:
            set_aside(self.winning.path, notify)
        else:
            self.winning.write(winner.index, spec(winner, finals), runner, known)
        return TuneResult.build(
            self.setup,
            known,
            finals,
            winner,
            stages=() if self.options.stages == USUAL_STAGES else stages,
            winner_file=self.winning.path,
            run=self.folder.path,
            stopped=stopped,
            seconds=self.journal.seconds,
        )

    def _open_judge(
        self, runner: MeasuringRunner, stage: Stage, chosen: Sequence[int]
    ) -> AbstractContextManager[Judge]:
        if not isinstance(runner, ExecutableRunner):
            raise InputError(
                f"the stage {stage.describe()!r} is for this machine, which {runner!r} is not",
                "leave it out",
            )
        spec, seed = self.winning.spec, self.options.seed
        if stage.model:
            (device, *_) = self.options.devices or ()
            return model_judge(stage, self.dispatch.target, device, spec, seed)
        executables = runner.executables(chosen, self.journal.outcomes)
        return command_judge(stage, runner.default, executables, spec)

    def _take(self, runner: Runner, baseline_us: float | None) -> str:
        """Takes candidates from the queue until the budget is used up; tells which limit it was.

        Args:
            baseline_us: None where nothing is measured.
        """
        budget, journal = self.options.budget, self.journal
        # A queue of 100,000 says nothing of how far a run of five minutes is.
        total = None if budget.seconds and not budget.candidates else len(self.queue)
        total = min(total, budget.candidates) if total and budget.candidates else total
        self.observer.on_start(total, budget.seconds, len(journal.outcomes))
        stopped = search(
            runner,
            self._order(),
            journal,
            self.limits,
            partial(self._show, baseline_us),
            self._report,
        )
        self._write_report(journal)
        return stopped

    def _write_report(self, journal: Journal) -> None:
        try:
            if self.report:
                self.report.write(journal.outcomes)
        # A process of its own writes specs, and may be killed where memory is short.
        except (OSError, FrontrunnerError) as error:
            self.observer.notify(f"the report of failures is not complete: {error}")

    def _report(self, _: RunProgress) -> None:
        with suppress(OSError, FrontrunnerError):  # tried again, and told, at the end
            if self.report:
                self.report.write(self.journal.outcomes)

    def _order(self) -> CandidateOrder:
        if not self.looks_back:
            return QueueOrder(len(self.queue))
        seed = self.options.seed
        ranker = cast(AdaptiveRanker, resolve_ranker(self.options.ranker or "", seed))
        return AdaptiveOrder.for_queue(self.queue, self.dispatch, ranker, seed)

    def _show(self, baseline_us: float | None, outcome: Outcome, course: RunProgress) -> None:
        """Tells the user and MLflow of an outcome."""
        best_us = None
        if baseline_us is not None:
            reached = min(1.0, course.best or 1.0)
            self.tracker.log_metric("best_so_far_relative", reached, course.taken)
            self.tracker.log_metric("best_so_far_us", reached * baseline_us, course.taken)
            best_us = None if course.best is None else course.best * baseline_us
        twin = outcome.kind == OK and outcome.same_as is not None
        self.observer.on_outcome("duplicate" if twin else outcome.kind, best_us)

    def _params(self) -> dict[str, Any]:
        options = asdict(self.options)
        budget = options.pop("budget")
        options["stages"] = [stage.describe() for stage in self.options.stages]
        sizes = {f"dim_{d.name}": d.size for d in self.dispatch.problem.dims}
        return {**options, **{f"budget_{k}": v for k, v in budget.items()}, **sizes}

    def _tags(self) -> dict[str, str]:
        problem, target = self.dispatch.problem, self.dispatch.target
        mode = "compile_only" if self.options.compile_only else "tune"
        return {
            "mode": mode,
            "input": self.options.input.name,
            "problem": problem.label,
            "kind": problem.kind,
            "arch": target.arch,
            "target": target.name,
            "device": ", ".join(self.setup.manifest.devices),
            "ranker": self.options.ranker or "",
        }

    def _track(self, result: Result) -> None:
        for path in (self.winning.path, self.folder.journal, self.folder.result):
            if path.exists():
                self.tracker.log_artifact(path)
        self.tracker.finish(metrics=result.metrics())
