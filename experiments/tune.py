"""The tuning loop: baseline, queue in ranker order, finalists interleaved, a verified spec."""

from __future__ import annotations

import hashlib
import shutil
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from ..benchmarks.compiling import Compiled, Compiler
from ..benchmarks.device import Device, check_uri, fingerprint
from ..benchmarks.outcome import OK, Outcome
from ..benchmarks.runner import Candidate, LocalRunner, Runner, executable_name
from ..models import resolve
from ..search import Dispatch, InputError, Space, WorkError, build_spaces, read_dispatch
from ..search.spec import Entry, render_spec
from .budget import Budget
from .candidates import make_queue, render
from .finals import Finals, Standing, accepted, run_finals
from .journal import Journal
from .progress import Observer
from .result import TuneResult
from .run_folder import RunFolder, write_text
from .tracking import Tracker

FINALISTS = 5
FINAL_ROUNDS = 12
FINAL_SECONDS = 0.06
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
    ranker: str = "heuristic"
    devices: tuple[str, ...] = ("local-task",)
    target: str = "host"
    seed: int = 0
    jobs: int | None = None
    pool: int = 10_000
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
    observer.phase(f"reading {options.input}")
    dispatch = read_dispatch(options.input, options.target)
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
        budget: new limits; those of the run if None. Candidates count from the run's start.
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
    options = TuneOptions(
        **{
            **saved,
            "input": Path(saved["input"]),
            "out": path,
            "budget": budget or Budget(**manifest["budget"]),
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
    return _Session(folder, options, dispatch, queue, observer).run()


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
        self.spaces: dict[str, Space] = {
            s.pipeline: s for s in build_spaces(dispatch.problem, dispatch.target)
        }

    def run(self) -> TuneResult:
        with ExitStack() as stack:
            journal = stack.enter_context(Journal(self.folder.journal))
            tracker = stack.enter_context(Tracker(warn=self.observer.note))
            tracker.start(self.folder.path.name, self._params(), self._tags())
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
            self.observer.baseline(devices[0].measure_baseline(4 * FINAL_SECONDS))
            runner = LocalRunner(
                self.dispatch,
                compiler,
                devices,
                baseline,
                journal.outcomes,
                self.options.keep_failures or self.folder.failures,
            )
            stopped = self._take(runner, journal, devices[0].baseline_us)
            finals, winner = self._decide(devices[0], compiler, baseline, journal)
            result = self._finish(journal, finals, winner, stopped)
            self._track(tracker, journal, result)
        shutil.rmtree(self.folder.work, ignore_errors=True)
        return result

    def _device(self, uri: str, baseline: Compiled, stack: ExitStack) -> Device:
        device = Device(uri, self.dispatch, baseline.executable, self.options.seed)
        stack.callback(device.close)
        device.start()
        return device

    def _take(self, runner: Runner, journal: Journal, baseline_us: float) -> str:
        """Takes candidates from the queue until the budget is used up; tells which limit it was."""
        budget = self.options.budget
        best, since_best = None, 0
        self.observer.start(budget.candidates or len(self.queue), budget.seconds)
        for outcome in journal.outcomes.values():
            best, since_best = self._show(outcome, best, since_best, baseline_us)
        while True:
            taken = len(journal.outcomes)
            if taken == len(self.queue):
                return f"all {taken} candidates"
            reached = budget.reached(taken, time.monotonic() - self.started, since_best)
            if reached:
                return reached
            size = budget.room(taken, BATCH_PER_JOB * (self.options.jobs or 2))
            rows = self.queue.iloc[taken : taken + size]
            batch = [Candidate(int(str(i)), render(self.spaces, row)) for i, row in rows.iterrows()]
            for candidate, outcome in runner.run(batch):
                journal.append(candidate.index, outcome)
                best, since_best = self._show(outcome, best, since_best, baseline_us)
                elapsed = time.monotonic() - self.started
                if budget.reached(len(journal.outcomes), elapsed, since_best):
                    break

    def _show(
        self, outcome: Outcome, best: float | None, since_best: int, baseline_us: float
    ) -> tuple[float | None, int]:
        relative = outcome.relative
        if relative is not None and (best is None or relative < best):
            best, since_best = relative, 0
        else:
            since_best += 1
        twin = outcome.kind == OK and outcome.same_as is not None
        self.observer.outcome(
            "duplicate" if twin else outcome.kind, None if best is None else best * baseline_us
        )
        return best, since_best

    def _decide(
        self, device: Device, compiler: Compiler, baseline: Compiled, journal: Journal
    ) -> tuple[Finals, Standing | None]:
        """Measures the finalists again and verifies the winner on other inputs, too."""
        ranked = sorted(
            (o.relative, i)
            for i, o in journal.outcomes.items()
            if o.kind == OK and o.same_as is None and o.relative is not None
        )
        finalists = self._executables([i for _, i in ranked[:FINALISTS]], compiler, journal)
        self.observer.phase(f"measuring {len(finalists)} finalists against the default")
        finals = run_finals(
            device,
            baseline.executable,
            finalists,
            rounds=FINAL_ROUNDS,
            seconds=FINAL_SECONDS,
            seed=self.options.seed,
        )
        winner = accepted(finals.standings, finals.noise_floor)
        if winner is not None:
            self.observer.phase("verifying the winner")
            self._verify(winner.index, finals, compiler, baseline)
        return finals, winner

    def _executables(
        self, indices: list[int], compiler: Compiler, journal: Journal
    ) -> dict[int, Path]:
        """Executables of candidates; those of an earlier session may have to be compiled again."""
        paths = {i: self.folder.work / f"{executable_name(i)}.vmfb" for i in indices}
        missing = [i for i, path in paths.items() if not path.exists()]
        specs = [(executable_name(i), self._spec(i)) for i in missing]
        for index, compiled in zip(missing, compiler.compile(specs), strict=True):
            if compiled.digest != journal.outcomes[index].executable:
                self.observer.note(f"candidate {index} does not compile as it did; left out")
                del paths[index]
        return paths

    def _verify(self, index: int, finals: Finals, compiler: Compiler, baseline: Compiled) -> None:
        """Compiles the spec as it will be written and compares its outputs on other inputs."""
        (compiled,) = compiler.compile([("winner", self._spec(index, finals))])
        if compiled.kind != OK:
            raise WorkError(f"the winner's spec failed: {compiled.reason}", "report this")
        fresh = replace(self.options, seed=self.options.seed + 1_000_003)
        device = Device(
            self.options.devices[0], self.dispatch, baseline.executable, fresh.seed
        )
        try:
            device.start()
            device.measure(compiled.executable, 0.0)
        finally:
            device.close()

    def _spec(self, index: int, finals: Finals | None = None) -> str:
        comment = ""
        if finals is not None:
            standing = next(s for s in finals.standings if s.index == index)
            comment = (
                f"Expected speedup: {standing.speedup:.2f}x on "
                f"{fingerprint(self.options.devices[0])} (noise floor "
                f"{finals.noise_floor:.1%}, default {finals.baseline_us:.0f} us)."
            )
        config = render(self.spaces, self.queue.iloc[index])
        return render_spec(
            [Entry(self.dispatch.problem, self.dispatch.indexing_maps, config, comment)]
        )

    def _finish(
        self, journal: Journal, finals: Finals, winner: Standing | None, stopped: str
    ) -> TuneResult:
        if winner is None:
            self.folder.spec.unlink(missing_ok=True)
        else:
            write_text(self.folder.spec, self._spec(winner.index, finals))
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

    def _track(self, tracker: Tracker, journal: Journal, result: TuneResult) -> None:
        for step, (relative, time_us) in enumerate(result.curve(journal.outcomes), 1):
            tracker.metric("best_so_far_relative", relative, step)
            tracker.metric("best_so_far_us", time_us, step)
        for path in (self.folder.spec, self.folder.journal, self.folder.result):
            if path.exists():
                tracker.artifact(path)
        tracker.finish(metrics=result.metrics())


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
