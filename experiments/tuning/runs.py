"""Tuning runs: a new one, or one that goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from ...benchmarks.cluster import ClusterRunner, open_devices
from ...benchmarks.compiling import check_report_folder
from ...benchmarks.measuring import (
    DEFAULT_BUDGET,
    Budget,
    Runner,
    check_uris,
    fingerprint,
    shares_cores,
)
from ...benchmarks.runners import CompileRunner, HeadStart, LocalRunner
from ...core import InputError, allowed_cpus, check_utf_8
from ...models import AdaptiveRanker, resolve_ranker
from ...search import Dispatch, check_rendered, executable_pipeline
from ..interrupted import resumable
from ..observing import Observer
from .folder import RunFolder, run_files
from .manifest import RunSetup, check_cluster
from .options import TuneOptions
from .preparation import digest_of_file, prepare
from .session import MakeRunner, Result, Session
from .stage_judges import check_models
from .stage_log import first_outdated, forget_stages
from .stages import Stage, check_usable, first_change


def make_usual_runner(
    folder: RunFolder,
    options: TuneOptions,
    dispatch: Dispatch,
    render_config: Callable[[int], str],
    observer: Observer,
    head_start: HeadStart | None = None,
) -> Runner:
    """This machine's, or a cluster's, which measures unless only compiling is asked for.

    Args:
        observer: told what becomes of a cluster's devices.
        head_start: what this machine's has begun with.
    """
    work, logs, jobs = folder.work, folder.logs, options.jobs
    builder = executable_pipeline(options.pipeline)
    if options.cluster is not None:
        return ClusterRunner(
            open_devices(
                options.cluster, dispatch.target.name, options.devices or (), observer.notify
            ),
            dispatch,
            render_config,
            work,
            logs,
            jobs=jobs,
            seed=options.seed,
            notify=observer.notify,
            on_device=observer.on_device,
            builder=builder,
        )
    if options.compile_only:
        return CompileRunner(
            dispatch, render_config, work, logs, jobs=jobs, builder=builder, head_start=head_start
        )
    return LocalRunner(
        dispatch,
        render_config,
        options.devices or (),
        work,
        logs,
        jobs=jobs,
        seed=options.seed,
        builder=builder,
        head_start=head_start,
    )


def start_run(
    options: TuneOptions,
    observer: Observer,
    *,
    tracked: bool = True,
    make_runner: MakeRunner | None = None,
) -> Result:
    """Tunes one dispatch into a new folder.

    Args:
        tracked: whether to be a run in MLflow.
        make_runner: makes what candidates are run by; this machine's if None.

    Raises:
        InputError: something given cannot be used; nothing was written.
        WorkError: the baseline does not run, or results cannot be written.
        RunInterrupted: Ctrl-C; the run can be resumed.
    """
    check_utf_8(options.out)  # before seconds go into a queue
    devices = 0 if options.compile_only else len(options.devices or ("the usual one",))
    with HeadStart(options.jobs, devices) as head_start:
        here = options.cluster is None and make_runner is None
        run = prepare(
            options,
            observer,
            own_runner=make_runner is not None,
            before_ranking=head_start.begin if here else lambda dispatch: None,
        )
        if options.keep_failures is not None:
            check_report_folder(options.keep_failures, run.dispatch)
        folder = RunFolder.create(options.out, options.name, run_files(run))
        options = replace(run.manifest.options, out=folder.path)
        with resumable(folder.path, by_option=True):
            session = Session(
                folder,
                options,
                run,
                make_runner or partial(make_usual_runner, observer=observer, head_start=head_start),
                observer,
                tracked=tracked,
            )
            return session.run()


def resume_run(
    path: Path,
    budget: Budget | None,
    observer: Observer,
    input: Path | None = None,
    *,
    keep_failures: Path | None = None,
    keep_valid: bool = False,
    stages: Sequence[Stage] | None = None,
    cluster: str | None = None,
    iree_flags: Sequence[str] = (),
    tracked: bool = True,
    make_runner: MakeRunner | None = None,
) -> Result:
    """Continues a run where it stopped; no measurement is repeated.

    Args:
        path: the run's folder.
        budget: new limits, which later sessions have, too; those that are None stay, but for the
            usual number of candidates where a time is given. Candidates count from the run's start.
        input: must be what the run was started with, where given.
        keep_failures: where the report of failures goes; into the run's folder if None.
        keep_valid: whether logged outcomes that cannot be this run's are left out, not refused.
        stages: other ones, or those that it was started with, which are to be given where they run
            commands: no file of a run is trusted with these. What a stage has said stays, up to
            the first that is another, or whose model or script is.
        cluster: the address of a cluster that has devices of the run's kind; to be given for a run
            that was started on one.
        iree_flags: those that it was started with, which no file of a run is trusted with.
        tracked: whether to be a run in MLflow.
        make_runner: to be given for a run that was started with one.
    """
    folder = RunFolder(path)
    found = folder.load(iree_flags)
    started = found.manifest.options
    _check_brought(path, started.stages, stages)
    goes_on = _with_limits(
        replace(started, stages=started.stages if stages is None else tuple(stages)),
        budget or Budget(),
    )
    check_usable(goes_on.stages, goes_on.pipeline, on_cluster=cluster is not None)
    run = replace(found, manifest=replace(found.manifest, options=goes_on))
    if keep_failures is not None:
        check_rendered(goes_on.pipeline, "a report of failures is of")
        check_report_folder(keep_failures, run.dispatch)
    if input is not None and digest_of_file(input) != run.manifest.input_digest:
        raise InputError(
            f"{path} is the run of another input ({started.input}), not of {input}",
            "start a new run, or leave the input out",
        )
    options = replace(goes_on, keep_failures=keep_failures, cluster=cluster)
    looks_back = run.manifest.looks_back
    if looks_back and not isinstance(resolve_ranker(options.ranker or ""), AdaptiveRanker):
        raise InputError(
            f"{path} looks back on outcomes, but ranker {options.ranker!r} keeps its order",
            "start a new run; this one was edited",
        )
    check_cluster(path, cluster, on_cluster=run.manifest.on_cluster)
    if cluster is not None:
        options = replace(options, devices=run.manifest.devices)  # the kind, whatever their names
        here = run.manifest.devices
    elif run.manifest.own_runner:
        here = run.manifest.devices  # its runner knows what they are
    else:
        check_uris(options.devices or ())
        here = tuple(fingerprint(uri) for uri in options.devices or ())
    if here != run.manifest.devices:
        raise InputError(
            f"{path} was measured on {', '.join(run.manifest.devices)}, this is {', '.join(here)}",
            "resume it there; times of different devices cannot be mixed",
        )
    changed = first_change(started.stages, goes_on.stages)
    if changed is None:
        changed = first_outdated(folder.stages, goes_on.stages)
    if changed is not None:
        check_models(goes_on.stages[changed:], run.dispatch.target)  # while the result still stands
    session = Session(
        folder,
        options,
        run,
        make_runner or partial(make_usual_runner, observer=observer),
        observer,
        on_begin=partial(_write_changes, folder, found, run, changed),
        keep_valid=keep_valid,
        tracked=tracked,
    )
    with resumable(path, by_option=True):
        if changed is None and (finished := session.read_finished()) is not None:
            return finished
        _check_runner(path, make_runner, own=found.manifest.own_runner)
        if cluster is None and make_runner is None:
            _check_cores(path, run)
        return session.run()


def _check_runner(path: Path, make_runner: MakeRunner | None, *, own: bool) -> None:
    """Refuses to mix times of a runner of the user's own with others."""
    if own != (make_runner is not None):
        whose = "a runner of your own" if own else "frontrunner's runner"
        raise InputError(
            f"{path} was measured by {whose}, whose times cannot be mixed with others",
            "resume it as it was started, with make_runner or without",
        )


def _check_cores(path: Path, run: RunSetup) -> None:
    """Refuses to mix times of a CPU that were measured on other numbers of its cores."""
    was, here = run.dispatch.target.cores, allowed_cpus()
    on_cpu = any(map(shares_cores, run.manifest.options.devices or ()))
    # What was measured elsewhere has the cores of the machine that compiled it.
    if on_cpu and was != here and not run.manifest.measured_by:
        raise InputError(
            f"{path} was measured on {was} cores, and this process may run on {here}",
            f"give it {was} with `taskset`, or start a new run",
        )


def _write_changes(folder: RunFolder, before: RunSetup, now: RunSetup, changed: int | None) -> None:
    """Has a folder tell of other stages and limits, for sessions to come.

    Args:
        changed: the first stage that is another one, or judges by another file.
    """
    if changed is not None:
        # It is of other stages, also if this session ends before there is one of these.
        folder.result.unlink(missing_ok=True)
        if folder.stages.exists():
            forget_stages(folder.stages, changed)
    if before.manifest.options != now.manifest.options:
        folder.rewrite_manifest(now.manifest, now.dispatch)


def _with_limits(started: TuneOptions, given: Budget) -> TuneOptions:
    """The options of a run that goes on with other limits; those that are None stay."""
    limits = {name: value for name, value in asdict(given).items() if value is not None}
    budget, usual = started.budget, started.usual_budget
    if usual is None:  # of an older run, which may have been given as many
        usual = replace(budget, patience=None) == Budget(DEFAULT_BUDGET)
    if usual and given.seconds is not None:
        budget = replace(budget, candidates=None)
    if {"candidates", "seconds"} & limits.keys():
        started = replace(started, usual_budget=False)
    return replace(started, budget=replace(budget, **limits))


def _check_brought(path: Path, started: Sequence[Stage], given: Sequence[Stage] | None) -> None:
    """Refuses commands and models that were not given now: a folder may be somebody else's."""
    brought = [stage.brought for stage in started if stage.brought]
    if given is None and brought:
        raise InputError(
            f"{path} runs {brought[0]!r} for each candidate, which has to be asked for again",
            "give its stages with --stages",
        )
