"""The tuning loop: baseline, queue in ranker order, finalists interleaved, a verified spec."""

from __future__ import annotations

import hashlib
import shutil
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ..benchmarks.compiling import Compiled, Compiler
from ..benchmarks.device import Device, check_uri, fingerprint
from ..benchmarks.outcome import OK, Outcome
from ..benchmarks.runner import Candidate, LocalRunner, Runner
from ..models import resolve
from ..search import Dispatch, InputError, Space, WorkError, build_spaces, read_dispatch
from .budget import Budget, Course
from .candidates import make_queue, render
from .finals import Finals, Standing
from .journal import Journal
from .jury import Jury
from .progress import Observer
from .result import TuneResult
from .run_folder import RunFolder, write_text
from .tracking import Tracker

BASELINE_SECONDS = 0.25
BATCH_PER_JOB = 4


@dataclass(frozen=True)
class TuneOptions:
    """What a tuning run is asked for.

    Attributes:
        input: MLIR with one dispatch.
        out: a new or empty folder.
        ranker: a ranker's name or a trained one's file.
        jobs: compile workers; as many as cores if None.
        pool: candidates that are sampled and ranked.
        keep_failures: where reproducers of failed candidates go; the run's folder if None.
    """

    input: Path
    out: Path
    budget: Budget
    ranker: str = "cpu"
    devices: tuple[str, ...] = ("local-task",)
    target: str = "host"
    seed: int = 0
    jobs: int | None = None
    pool: int = 100_000
    keep_failures: Path | None = None


def tune(options: TuneOptions, observer: Observer) -> TuneResult:
    """Tunes one dispatch into a new folder.

    Raises:
        InputError: something given cannot be used; nothing was written.
        WorkError: the baseline does not run, or results cannot be written.
    """
    for uri in options.devices:
        check_uri(uri)
    ranker = resolve(options.ranker, seed=options.seed)
    dispatch = read_dispatch(options.input, options.target)
    for uri in options.devices:
        if not uri.startswith("local-"):
            raise InputError(
                f"device {uri!r} does not run CPU code", "use local-task or local-sync"
            )
    if dispatch.others:
        observer.note(f"not tuned, but timed with it: {', '.join(dispatch.others)}")
    observer.phase("ranking candidates")
    queue = make_queue(
        dispatch.problem, dispatch.target, ranker, pool=options.pool, seed=options.seed
    )
    folder = RunFolder(options.out)
    manifest = {
        "options": {k: v for k, v in asdict(options).items() if k not in ("budget", "out")},
        "budget": asdict(options.budget),
        "input_digest": _digest(options.input),
        "devices": [fingerprint(uri) for uri in options.devices],
    }
    folder.create(manifest, dispatch, queue)
    return _Session(folder, options, dispatch, queue, observer).run()


def resume(
    path: Path, budget: Budget | None, observer: Observer, input: Path | None = None
) -> TuneResult:
    """Continues a run where it stopped; no measurement is repeated.

    Args:
        path: the run's folder.
        budget: new limits; those that are None stay. Candidates count from the run's start.
        input: must be what the run was started with, where given.
    """
    folder = RunFolder(path)
    manifest, dispatch, queue = folder.load()
    if input is not None and _digest(input) != manifest["input_digest"]:
        raise InputError(
            f"{path} is the run of another input ({manifest['options']['input']}), not of {input}",
            "start a new run, or leave the input out",
        )
    saved = manifest["options"]
    limits = {k: v for k, v in asdict(budget or Budget()).items() if v is not None}
    options = TuneOptions(
        **{
            **saved,
            "input": Path(saved["input"]),
            "out": path,
            "budget": Budget(**{**manifest["budget"], **limits}),
            "devices": tuple(saved["devices"]),
            "keep_failures": saved["keep_failures"] and Path(saved["keep_failures"]),
        }
    )
    here = [fingerprint(uri) for uri in options.devices]
    if here != manifest["devices"]:
        raise InputError(
            f"{path} was measured on {manifest['devices']}, this is {here}",
            "resume it there; times of different devices cannot be mixed",
        )
    session = _Session(folder, options, dispatch, queue, observer)
    return session.finished() or session.run()


class _Session:
    """One session of a run: from the baseline to the spec."""

    def __init__(
        self,
        folder: RunFolder,
        options: TuneOptions,
        dispatch: Dispatch,
        queue: pd.DataFrame,
        observer: Observer,
    ) -> None:
        self.folder = folder
        self.options = options
        self.dispatch = dispatch
        self.queue = queue
        self.observer = observer
        self.started = time.monotonic()
        self.course = Course()
        self.spaces: dict[str, Space] = {
            s.pipeline: s for s in build_spaces(dispatch.problem, dispatch.target)
        }

    def finished(self) -> TuneResult | None:
        """The result of a run that was complete and has no budget left, as it was found."""
        with Journal(self.folder.journal) as journal:
            result = TuneResult.read(self.folder.result)
            for outcome in journal.outcomes.values():
                self.course.add(outcome)
            if result is not None and result.candidates == self.course.taken and self._stop():
                return result
            self.course = Course()
            return None

    def run(self) -> TuneResult:
        with ExitStack() as stack:
            journal = stack.enter_context(Journal(self.folder.journal))
            self.tracker = stack.enter_context(Tracker(warn=self.observer.note))
            self.tracker.start(self.folder.path.name, self._params(), self._tags())
            self.folder.work.mkdir(exist_ok=True)
            compiler = stack.enter_context(
                Compiler(self.dispatch, self.folder.work, self.options.jobs)
            )
            self.observer.phase("measuring the compiler's default")
            baseline = compiler.baseline()
            if baseline.kind != OK:
                raise WorkError(
                    f"the compiler's default does not compile: {baseline.reason}",
                    "see that iree-compile accepts the input",
                )
            devices = [self._device(uri, baseline, stack) for uri in self.options.devices]
            self.observer.baseline(devices[0].measure_baseline(BASELINE_SECONDS))
            runner = LocalRunner(
                self.dispatch,
                compiler,
                devices,
                baseline,
                journal.outcomes,
                self.options.keep_failures or self.folder.failures,
            )
            batch = BATCH_PER_JOB * compiler.jobs
            stopped = self._take(runner, journal, devices[0].baseline_us, batch)
            jury = Jury(self.folder, self.dispatch, self._config, compiler, baseline, self.observer)
            finals, winner = jury.decide(devices[0], journal.outcomes, self.options.seed)
            spec = None if winner is None else jury.spec(winner, finals, devices[0])
            result = self._finish(journal, finals, winner, spec, stopped)
            self._track(result)
        shutil.rmtree(self.folder.work, ignore_errors=True)
        return result

    def _device(self, uri: str, baseline: Compiled, stack: ExitStack) -> Device:
        device = Device(uri, self.dispatch, baseline.executable, self.options.seed)
        stack.callback(device.close)
        device.start()
        return device

    def _stop(self) -> str | None:
        """Why no more candidates are taken, in words; None to go on."""
        course = self.course
        if course.taken == len(self.queue):
            return f"all {course.taken} candidates"
        elapsed = time.monotonic() - self.started
        return self.options.budget.reached(course.taken, elapsed, course.since_best)

    def _take(self, runner: Runner, journal: Journal, baseline_us: float, most: int) -> str:
        """Takes candidates from the queue until the budget is used up; tells which limit it was."""
        budget = self.options.budget
        self.observer.start(budget.candidates or len(self.queue), budget.seconds)
        for outcome in journal.outcomes.values():
            self._show(outcome, baseline_us)
        while not (stopped := self._stop()):
            taken = self.course.taken
            last = min(len(self.queue), taken + budget.room(taken, most))
            batch = [Candidate(i, self._config(i)) for i in range(taken, last)]
            for candidate, outcome in runner.run(batch):
                journal.append(candidate.index, outcome)
                self._show(outcome, baseline_us)
                if self._stop():
                    break
        return stopped

    def _show(self, outcome: Outcome, baseline_us: float) -> None:
        """Counts an outcome, and tells the user and MLflow."""
        course = self.course
        course.add(outcome)
        reached = min(1.0, course.best or 1.0)
        self.tracker.metric("best_so_far_relative", reached, course.taken)
        self.tracker.metric("best_so_far_us", reached * baseline_us, course.taken)
        twin = outcome.kind == OK and outcome.same_as is not None
        best_us = None if course.best is None else course.best * baseline_us
        self.observer.outcome("duplicate" if twin else outcome.kind, best_us)

    def _config(self, index: int) -> str:
        return render(self.spaces, self.queue.iloc[index])

    def _finish(
        self,
        journal: Journal,
        finals: Finals,
        winner: Standing | None,
        spec: str | None,
        stopped: str,
    ) -> TuneResult:
        if spec is None:
            self.folder.spec.unlink(missing_ok=True)
        else:
            write_text(self.folder.spec, spec)
        result = TuneResult.build(
            journal.outcomes,
            finals,
            winner,
            spec=self.folder.spec,
            run=self.folder.path,
            stopped=stopped,
            seconds=time.monotonic() - self.started,
        )
        write_text(self.folder.result, result.to_json())
        return result

    def _params(self) -> dict[str, Any]:
        options = asdict(self.options)
        budget = options.pop("budget")
        sizes = {f"dim_{d.name}": d.size for d in self.dispatch.problem.dims}
        return {**options, **{f"budget_{k}": v for k, v in budget.items()}, **sizes}

    def _tags(self) -> dict[str, str]:
        problem, target = self.dispatch.problem, self.dispatch.target
        return {"problem": problem.label, "kind": problem.kind, "arch": target.arch}

    def _track(self, result: TuneResult) -> None:
        for path in (self.folder.spec, self.folder.journal, self.folder.result):
            if path.exists():
                self.tracker.artifact(path)
        self.tracker.finish(metrics=result.metrics())


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
