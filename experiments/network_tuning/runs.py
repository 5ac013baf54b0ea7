"""Tunes a whole model: finds the dispatches that matter, tunes each, proves them together."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from ...benchmarks.compiling import Compiler, unless_killed
from ...benchmarks.libraries import measure_peak
from ...benchmarks.measuring import (
    NOT_APPLIED,
    OK,
    Compiled,
    check_drivers,
    check_uris,
    fingerprint,
    shares_cores,
)
from ...benchmarks.networks import (
    Archives,
    Gain,
    ModelFailed,
    ModelRunner,
    Share,
    Subject,
    check_archives,
    prepare_inputs,
    profile,
)
from ...core import InputError, WorkError, make_folder, only_process
from ...models import resolve
from ...search import what_is_tuned
from ...search.linking import find_matches, link_specs
from ...search.reading import Model, read_model
from ..interrupted import resumable
from ..observing import Tracker
from ..tuning import write_text
from .dispatches import MakeObserver, Tell, best_specs, tune_each
from .folder import ModelFolder, laid_out
from .onnx_import import as_mlir
from .options import ModelOptions
from .plan import Plan, make_plan
from .result import ModelResult
from .summary import report
from .trial import Trial

COMPILE_TIMEOUT, LEAST_TIMEOUT = 1800.0, 30.0
# How much longer than the default a variant of the model may compile.
SLOWER = 5.0
# Of the time: to try in the model what was found. Of 15 minutes, three.
PROVING = 0.2
# Sets of inputs on which outputs are compared.
INPUT_SETS = 3


def start_model_run(options: ModelOptions, make_observer: MakeObserver, tell: Tell) -> ModelResult:
    """Tunes a model into a new folder.

    Args:
        make_observer: of the progress of one dispatch.
        tell: told what else is done.

    Raises:
        InputError: something given cannot be used; nothing was written.
        WorkError: the model does not run, or results cannot be written.
        RunInterrupted: Ctrl-C; it can be gone on with.
    """
    started = time.monotonic()
    with (
        _opened(options, tell) as (model, weighted),
        laid_out(options) as folder,
        resumable(folder.path),
    ):
        return _tune(model, folder, weighted, started, make_observer, tell)


def resume_model_run(
    path: Path, make_observer: MakeObserver, tell: Tell, input: Path | None = None
) -> ModelResult:
    """Goes on where tuning a model stopped; no dispatch is tuned again.

    Args:
        input: must be what it was started with, where given.
    """
    started = time.monotonic()
    folder = ModelFolder(path)
    options = folder.load(input)
    if (done := ModelResult.read(folder.result)) is not None:
        return done
    with only_process(path), _opened(options, tell) as (model, weighted):
        return _tune(model, folder, weighted, started, make_observer, tell)


@contextmanager
def _opened(options: ModelOptions, tell: Tell) -> Iterator[tuple[Model, ModelOptions]]:
    """The model, and the options with all archives that it needs, as long as they are there."""
    _check(options)
    tell(f"reading {options.input}")
    with as_mlir(options) as (mlir, parameters):
        yield _read(options, mlir, parameters), replace(options, parameters=parameters)


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


def _read(options: ModelOptions, mlir: Path, parameters: Archives) -> Model:
    model = read_model(mlir, options.target, str(options.input))
    check_archives(parameters, model.parameters)
    if options.default_specs:
        model = replace(model, target=replace(model.target, default_specs=True))
    target = model.target
    check_drivers([options.device] if options.device else [], target.drivers, target.arch)
    fingerprint(options.device or target.drivers[0])  # refused where it does not answer
    return model


def _tune(
    model: Model,
    folder: ModelFolder,
    options: ModelOptions,
    started: float,
    make_observer: MakeObserver,
    tell: Tell,
) -> ModelResult:
    shutil.rmtree(folder.work, ignore_errors=True)
    make_folder(folder.work, "move away what is there")
    device = options.device or model.target.drivers[0]
    subject = _subject(model, options, device, folder.work)
    deadline = started + 60 * options.minutes
    with ExitStack() as stack:
        compiler = stack.enter_context(Compiler(model, folder.work, 1, COMPILE_TIMEOUT, tries=2))
        runner = stack.enter_context(ModelRunner(subject))
        tell("compiling the model as it is")
        default = _default(compiler, model, options.starter, tell)
        # Variants of the model take as long as it does, or they hang.
        compiler.timeout = max(LEAST_TIMEOUT, SLOWER * default.seconds)
        run_us = _run_once(runner, default)
        plan = folder.plan()
        files = folder.write_dispatches(model.dispatches)
        if plan is None:
            tell("profiling the model")
            plan = _plan(model, files, profile(default.executable, subject), options, device)
            folder.save_plan(plan)
        tracker = stack.enter_context(Tracker(warn=tell))
        tags = {"mode": "tune_model", "arch": model.target.arch}
        tracker.start(folder.path.name, asdict(options), tags)
        tuning = replace(options, device=device)
        until = deadline - PROVING * 60 * options.minutes
        tuned = tune_each(plan, folder, tuning, until, make_observer, tell)
        trial = Trial(
            compiler, runner, options.starter, default, folder.work, options.seed, deadline, tell
        )
        verdict = trial.decide([(h, best_specs(h, tuned[h.name], folder)) for h in plan.hot])
        if verdict.spec is not None and verdict.gain is not None:
            write_text(folder.spec, _comment(verdict.gain, device) + verdict.spec)
        result = ModelResult.build(
            plan, tuned, verdict,
            baseline_us=run_us, spec=folder.spec, run=folder.path,
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
        KilledError: the compiler was killed.
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
        unless_killed(default, "the model with --spec")
        if default.kind == NOT_APPLIED:
            default = replace(default, kind=OK)  # specs of other tools leave no mark
    if default.kind != OK:
        what = "the model does not compile with --spec" if starter else "the model does not compile"
        raise InputError(f"{what}: {default.reason}", "see that iree-compile accepts it")
    return default


def _run_once(runner: ModelRunner, default: Compiled) -> float:
    try:
        return runner.gain(default.executable, default.executable, seed=0, rounds=1).before_us
    except ModelFailed as failure:
        raise WorkError(
            f"the model does not run: {failure}", "see that iree-run-module runs it"
        ) from failure


def _plan(
    model: Model,
    files: Mapping[str, Path],
    shares: Sequence[Share],
    options: ModelOptions,
    device: str,
) -> Plan:
    """What is worth tuning.

    Raises:
        InputError: nothing is.
    """
    dispatches = {d.name: d for d in model.dispatches}
    peak = measure_peak() if shares_cores(device) else None
    plan = make_plan(shares, dispatches, files, options.coverage, options.target, peak)
    if not plan.hot:
        most = ", ".join(f"{r.share:.0%} {r.name} ({r.reason})" for r in plan.rest[:3])
        raise InputError(
            f"{options.input} has no hot dispatch that can be tuned; its time goes to: {most}",
            f"{what_is_tuned()}; try a larger --coverage",
        )
    return plan


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
