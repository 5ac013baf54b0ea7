"""Tunes a whole model: finds the dispatches that matter, tunes each, proves them together."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from pathlib import Path

from ..benchmarks.budget import Budget
from ..benchmarks.compiling import Compiler
from ..benchmarks.device import check_backend, check_uris, drivers_of, fingerprint, shares_cores
from ..benchmarks.model_inputs import prepare_inputs
from ..benchmarks.model_kernel import Subject
from ..benchmarks.model_runner import Gain, ModelFailed, ModelRunner
from ..benchmarks.outcome import NOT_APPLIED, OK, Compiled
from ..benchmarks.parameters import check_archives
from ..benchmarks.peak import measure_peak
from ..benchmarks.profiling import Share, profile
from ..models import resolve
from ..search import FrontrunnerError, InputError, WorkError, link_specs
from ..search.matches import find_matches
from ..search.model import Model, read_model
from ..search.spec import spec_of
from .candidates import renderer
from .hot import Hot, Plan, make_plan
from .in_model import TRIES, Trial
from .model_folder import ModelFolder
from .model_options import ModelOptions
from .model_report import report
from .model_result import ModelResult
from .onnx_model import as_mlir
from .options import TuneOptions
from .progress import Observer
from .result import TuneResult
from .run_folder import RunFolder, write_text
from .tracking import Tracker
from .tune import resume, tune

COMPILE_TIMEOUT = 1800.0
# Of the time: to try in the model what was found. Of 15 minutes, three.
PROVING = 0.2
# Seconds that tuning a dispatch takes beside taking candidates: reading, ranking, the finals.
AROUND = 18.0
LEAST_SECONDS = 5.0
PATIENCE = 96
# Sets of inputs on which outputs are compared.
INPUT_SETS = 3
DEFAULT_SPECS = "--iree-codegen-enable-default-tuning-specs"

MakeObserver = Callable[[], Observer]
Tell = Callable[[str], None]


def tune_model(options: ModelOptions, make_observer: MakeObserver, tell: Tell) -> ModelResult:
    """Tunes a model into a new folder.

    Args:
        make_observer: of the progress of one dispatch.
        tell: told what else is done.

    Raises:
        InputError: something given cannot be used; nothing was written.
        WorkError: the model does not run, or results cannot be written.
    """
    started = time.monotonic()
    _check(options)
    tell(f"reading {options.input}")
    with as_mlir(options) as plain:
        model = _read(plain, str(options.input))
        with ModelFolder(options.out).laid_out(options):
            return _tune(model, plain, started, make_observer, tell)


def resume_model(
    path: Path, make_observer: MakeObserver, tell: Tell, input: Path | None = None
) -> ModelResult:
    """Goes on where tuning a model stopped; no dispatch is tuned again.

    Args:
        input: must be what it was started with, where given.
    """
    started = time.monotonic()
    folder = ModelFolder(path)
    options = folder.load(input)
    options = replace(options, input=input or options.input)
    if (done := ModelResult.read(folder.result)) is not None:
        return done
    _check(options)
    tell(f"reading {options.input}")
    with as_mlir(options) as plain:
        return _tune(_read(plain, str(options.input)), plain, started, make_observer, tell)


def _check(options: ModelOptions) -> None:
    """Refuses what can be refused before the compiler is asked.

    Raises:
        InputError: naming what cannot be used.
    """
    if options.ranker is not None:
        resolve(options.ranker, seed=options.seed)
    if options.device is not None:
        check_uris([options.device])
    for scope, path in options.parameters:
        if not path.is_file():
            raise InputError(
                f"there is no parameter archive {path} (scope {scope!r})",
                "give the weights' file as --parameters SCOPE=FILE",
            )


def _read(options: ModelOptions, name: str) -> Model:
    model = read_model(options.input, options.target, name)
    check_archives(options.parameters, model.parameters)
    if options.default_specs:
        flags = (*model.target.flags, DEFAULT_SPECS)
        model = replace(model, target=replace(model.target, flags=flags))
    target = model.target
    check_backend([options.device] if options.device else [], target.backend, target.arch)
    return model


def _tune(
    model: Model, options: ModelOptions, started: float, make_observer: MakeObserver, tell: Tell
) -> ModelResult:
    folder = ModelFolder(options.out)
    folder.work.mkdir(exist_ok=True)
    device = options.device or drivers_of(model.target.backend)[0]
    subject = _subject(model, options, device, folder.work)
    deadline = started + 60 * options.minutes
    with ExitStack() as stack:
        compiler = stack.enter_context(Compiler(model, folder.work, 1, COMPILE_TIMEOUT))
        runner = stack.enter_context(ModelRunner(subject))
        tell("compiling the model as it is")
        default = _default(compiler, model, options.starter, tell)
        run_us = _run_once(runner, default)
        plan = folder.plan()
        if plan is None:
            tell("profiling the model")
            plan = _plan(model, folder, profile(default.executable, subject), options, device)
            folder.save_plan(plan)
        tracker = stack.enter_context(Tracker(warn=tell))
        tags = {"mode": "tune_model", "arch": model.target.arch}
        tracker.start(options.out.name, asdict(options), tags)
        tuning = replace(options, device=device)
        tuned = _tune_each(plan, folder, tuning, deadline, make_observer, tell)
        trial = Trial(
            compiler, runner, options.starter, default, folder.work, options.seed, deadline, tell
        )
        verdict = trial.decide([(hot, _specs(hot, tuned[hot.name], folder)) for hot in plan.hot])
        if verdict.spec is not None and verdict.gain is not None:
            write_text(folder.spec, _comment(verdict.gain, device) + verdict.spec)
        result = ModelResult.build(
            plan, tuned, verdict,
            baseline_us=run_us, spec=folder.spec, run=options.out,
            seconds=time.monotonic() - started,
        )  # fmt: skip
        write_text(folder.report, report(result, options))
        write_text(folder.result, result.to_json())
        _track(tracker, folder, result)
    shutil.rmtree(folder.work, ignore_errors=True)
    return result


def _subject(model: Model, options: ModelOptions, device: str, folder: Path) -> Subject:
    function = model.function(options.function)
    seeds = [options.seed + 1000 * n for n in range(INPUT_SETS)]
    inputs = prepare_inputs(function, options.inputs, folder, seeds)
    outputs = tuple(o.dtype for o in function.outputs)
    return Subject(device, function.name, tuple(inputs), outputs, options.parameters)


def _default(compiler: Compiler, model: Model, starter: Sequence[Path], tell: Tell) -> Compiled:
    """The model as the compiler, and the user's own specs, configure it.

    Raises:
        InputError: it does not compile, or the specs cannot be used.
    """
    if not starter:
        default = compiler.baseline()
    else:
        linked = link_specs(starter)
        for conflict in linked.conflicts:
            tell(f"conflict: {conflict}")
        for name, dispatches in find_matches(model, linked).items():
            if not dispatches:
                tell(f"warning: {name} matches nothing in this model")
        (default,) = compiler.compile([("starter", linked.text)])
        if default.kind == NOT_APPLIED:
            default = replace(default, kind=OK)  # specs of other tools leave no mark
    if default.kind != OK:
        raise InputError(
            f"the model does not compile: {default.reason}", "see that iree-compile accepts it"
        )
    return default


def _run_once(runner: ModelRunner, default: Compiled) -> float:
    try:
        return runner.gain(default.executable, default.executable, seed=0, rounds=1).before_us
    except ModelFailed as failure:
        raise WorkError(
            f"the model does not run: {failure}", "see that iree-run-module runs it"
        ) from failure


def _plan(
    model: Model, folder: ModelFolder, shares: Sequence[Share], options: ModelOptions, device: str
) -> Plan:
    """What is worth tuning.

    Raises:
        InputError: nothing is.
    """
    files = folder.write_dispatches(model.dispatches)
    dispatches = {d.name: d for d in model.dispatches}
    peak = measure_peak() if shares_cores(device) else None
    plan = make_plan(shares, dispatches, files, options.coverage, options.target, peak)
    if not plan.hot:
        most = ", ".join(f"{r.share:.0%} {r.name} ({r.reason})" for r in plan.rest[:3])
        raise InputError(
            f"{options.input} has no hot dispatch that can be tuned; its time goes to: {most}",
            "frontrunner tunes contractions, convolutions and attention; try a larger --coverage",
        )
    return plan


def _tune_each(
    plan: Plan,
    folder: ModelFolder,
    options: ModelOptions,
    deadline: float,
    make_observer: MakeObserver,
    tell: Tell,
) -> dict[str, TuneResult | str]:
    """Tunes hot dispatches, the most promising first; each gets its share of the time left.

    Returns:
        By name, the run, or why there is none.
    """
    until = deadline - PROVING * 60 * options.minutes
    found: dict[str, TuneResult | str] = {}
    for place, hot in enumerate(plan.hot):
        # Gains diminish: four times the headroom is worth twice the time.
        weights = [math.sqrt(one.headroom_us) for one in plan.hot[place:]]
        share = (until - time.monotonic()) * weights[0] / sum(weights)
        budget = Budget(seconds=max(LEAST_SECONDS, share - AROUND), patience=PATIENCE)
        run = folder.run_of(hot)
        if (done := TuneResult.read(run.result)) is not None:
            found[hot.name] = done
        elif time.monotonic() > until:
            found[hot.name] = "no time was left for it"
        else:
            tell(
                f"tuning {hot.name}: {hot.share:.1%} of the time, "
                f"{budget.seconds:.0f} s ({place + 1} of {len(plan.hot)})"
            )
            found[hot.name] = _tune_one(hot, run, budget, options, make_observer, tell)
    return found


def _tune_one(
    hot: Hot,
    run: RunFolder,
    budget: Budget,
    options: ModelOptions,
    make_observer: MakeObserver,
    tell: Tell,
) -> TuneResult | str:
    """A dispatch's run, or why there is none: one that fails is no reason to give the others up."""
    wanted = TuneOptions(
        input=hot.file,
        out=run.path,
        budget=budget,
        ranker=options.ranker,
        devices=(options.device or "",),
        target=options.target,
        seed=options.seed,
        jobs=options.jobs,
        pool=options.pool,
    )
    try:
        with closing(make_observer()) as observer:
            if run.path.exists():
                result = resume(run.path, budget, observer, tracked=False)
            else:
                result = tune(wanted, observer, tracked=False)
    except FrontrunnerError as error:
        tell(f"{hot.name} is left out: {error}")
        return str(error)
    assert isinstance(result, TuneResult)
    return result


def _specs(hot: Hot, tuned: TuneResult | str, folder: ModelFolder) -> list[Path]:
    """Specs of a dispatch's best candidates, the best one first.

    They only have to be faster than the default: whether by more than noise is for the model to
    say, where it is measured anew.
    """
    if isinstance(tuned, str):
        return []
    better = [s for s in tuned.finalists if s.interval[0] > 1][:TRIES]
    if not better:
        return []
    _, dispatch, queue = folder.run_of(hot).load()
    render = renderer(dispatch, queue)
    paths = []
    for place, standing in enumerate(better):
        path = folder.work / f"{hot.name}-{place}.mlir"
        write_text(path, spec_of(dispatch, render(standing.index)))
        paths.append(path)
    return paths


def _comment(gain: Gain, device: str) -> str:
    return (
        f"// Expected speedup of the model: {gain.speedup:.2f}x on {fingerprint(device)} "
        f"(noise floor {gain.noise_floor:.1%}, default {gain.before_us / 1e3:.1f} ms).\n"
    )


def _track(tracker: Tracker, folder: ModelFolder, result: ModelResult) -> None:
    for row in result.dispatches:
        figures = {"share": row.share, "speedup": row.speedup, "kept": float(row.kept)}
        figures |= {"candidates": float(row.candidates), "seconds": row.seconds}
        tracker.child(row.name, {"members": len(row.members), "reason": row.reason}, figures)
    for path in (folder.spec, folder.result, folder.report):
        if path.exists():
            tracker.artifact(path)
    tracker.finish(metrics=result.metrics())
