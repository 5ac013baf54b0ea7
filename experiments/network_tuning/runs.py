"""Tunes a whole model: finds the dispatches that matter, tunes each, proves them together."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ...benchmarks.measuring import check_uris, fingerprint
from ...benchmarks.networks import (
    INPUTS_HINT,
    Archives,
    NetworkRunner,
    check_archives,
    read_dims,
)
from ...core import InputError, Notify, lock_folder, make_folder
from ...models import resolve_ranker
from ...search import backend_named
from ...search.reading import Network, read_network
from ..device_checks import check_code, check_devices
from ..importing import as_mlir, named_inputs
from ..interrupted import resumable
from ..observing import Tracker
from ..tuning import TuneResult, write_text
from .bases import BaseMaker
from .choosing import choose
from .device import compared_beside, make_setup, open_device
from .dispatches import (
    MakeObserver,
    best_specs,
    speedup_alone,
    tune_hot_dispatches,
    tune_in_model,
    write_specs,
)
from .finishing import finish, is_behind, write_winner
from .in_model import InModelResult
from .planning import (
    NO_TIME,
    NetworkFolder,
    NetworkOptions,
    open_new_folder,
    read_variants,
    variants_of,
)
from .queued import tuned_alone
from .result import NetworkResult
from .summary import report
from .trial import NetworkTrial

# Of the time: to try other options of the compiler, of which the last may take longer; to try in
# the model what was found; and the end of it, to compare what came of that with other options.
OPTIONS_SHARE, TRIAL_SHARE, FINISH_SHARE = 0.2, 0.2, 0.1
# Of the time, and seconds at most: to try candidates with each of the options that may be best.
BRIEF_SHARE, MOST_BRIEF = 1 / 12, 60.0


@dataclass(frozen=True)
class _Session:
    """The time that a session has.

    Attributes:
        started: when it did, as `time.monotonic` has it.
        seconds: how long it lasts.
        before: what an earlier session ended with, which is gone on with.
    """

    started: float
    seconds: float
    before: NetworkResult | None = None

    @property
    def deadline(self) -> float:
        return self.started + self.seconds


def start_network_run(
    options: NetworkOptions, make_observer: MakeObserver, notify: Notify
) -> NetworkResult:
    """Tunes a model into a new folder.

    Args:
        make_observer: of the progress of one dispatch.
        notify: told what else is done.

    Raises:
        InputError: something given cannot be used; nothing was written.
        WorkError: the model does not run, or results cannot be written.
        RunInterrupted: Ctrl-C; it can be gone on with.
    """
    started = time.monotonic()
    with (
        _opened(options, notify) as (mlir, network, weighted),
        open_new_folder(options) as folder,
        resumable(folder.path, by_option=True),
    ):
        session = _Session(started, 60 * options.minutes)
        return _tune(mlir, network, folder, weighted, session, make_observer, notify)


def resume_network_run(
    path: Path,
    make_observer: MakeObserver,
    notify: Notify,
    input: Path | None = None,
    cluster: str | None = None,
    iree_flags: Sequence[str] = (),
    variants: str | None = None,
    minutes: float | None = None,
) -> NetworkResult:
    """Goes on where tuning a model stopped; no candidate is measured again.

    Args:
        input: must be what it was started with, where given.
        cluster: the address of one, of what was started on a cluster.
        iree_flags: those that it was started with, which no file is trusted with.
        variants: the file of options that it was started with, if one was.
        minutes: for this session; by default as many as it was started with, and none for what is
            finished.
    """
    started = time.monotonic()
    folder = NetworkFolder(path)
    options = folder.load(input, cluster, iree_flags, variants, further=minutes is not None)
    with suppress(InputError), lock_folder(path):  # not of a session that goes on
        folder.came_to.restore()
    done = NetworkResult.read(folder.result)
    for file in (done.spec, done.flags) if done is not None else ():
        if file is not None and not file.is_file():
            raise InputError(
                f"{folder.result} does not follow from the run: {file.name} is missing",
                "remove it, and resume the run",
            )
    if done is not None and minutes is None:
        if folder.work.exists():  # of a session that was killed when all but this was done
            with suppress(InputError), lock_folder(path):  # another process may be about to end
                shutil.rmtree(folder.work, ignore_errors=True)
        return done
    given = options if minutes is None else replace(options, minutes=minutes)
    session = _Session(started, 60 * given.minutes, before=done)
    with (
        lock_folder(path),
        resumable(path, by_option=True, minutes=minutes),
        _opened(options, notify) as (mlir, network, weighted),
    ):
        return _tune(mlir, network, folder, weighted, session, make_observer, notify)


@contextmanager
def _opened(
    options: NetworkOptions, notify: Notify
) -> Iterator[tuple[Path, Network, NetworkOptions]]:
    """The model, and the options with all inputs and archives, as long as they are there."""
    _check(options)
    notify(f"reading {options.input}")
    with as_mlir(options.input, options.parameters) as (mlir, parameters):
        if options.dims and not options.inputs:
            options = replace(options, inputs=named_inputs(options.input, read_dims(options.dims)))
        network = _read(options, mlir, parameters, notify)
        yield mlir, network, replace(options, parameters=parameters)


def _check(options: NetworkOptions) -> None:
    """Refuses what can be refused before the compiler is asked.

    Raises:
        InputError: naming what cannot be used.
    """
    if options.variants_file is not None:
        read_variants(options.variants_file)
    if options.ranker is not None:
        resolve_ranker(options.ranker, seed=options.seed)
    if options.device is not None and options.cluster is None:
        check_uris([options.device])
    for scope, path in options.parameters:
        if not path.is_file():
            raise InputError(
                f"there is no parameter archive {path} (scope {scope!r})",
                "give the weights' file as --parameters SCOPE=FILE",
            )


def _read(options: NetworkOptions, mlir: Path, parameters: Archives, notify: Notify) -> Network:
    network = read_network(
        mlir,
        options.target,
        str(options.input),
        default_specs=options.default_specs,
        iree_flags=options.iree_flags,
        shapes=options.shapes,
    )
    check_archives(parameters, network.parameters)
    target = network.target
    if options.cluster is None:
        device = options.device or target.drivers[0]
        check_devices([device], target, notify)
        fingerprint(device)  # refused where it does not answer
    return network


def _tune(
    mlir: Path,
    network: Network,
    folder: NetworkFolder,
    options: NetworkOptions,
    session: _Session,
    make_observer: MakeObserver,
    notify: Notify,
) -> NetworkResult:
    shutil.rmtree(folder.work, ignore_errors=True)
    make_folder(folder.work, "move away what is there")
    variants = variants_of(options.variants, network.target, options.iree_flags)
    seconds, deadline = session.seconds, session.deadline
    with ExitStack() as stack:
        place = stack.enter_context(open_device(options, network.target, notify))
        setup = make_setup(network, options, place.uri, folder.work)
        maker = BaseMaker(mlir, options, folder.work, notify)
        notify("compiling the model as it is")
        plain = maker.plain(network)
        default = plain.compiled.executable
        if place.cluster is None:
            check_code([place.uri], network.target, default)
        setup = compared_beside(
            setup, network, options, default, folder.work, place.make_child, notify
        )
        runner = stack.enter_context(NetworkRunner(setup, place.make_child))
        run_us = runner.time_once(default)
        if without := runner.check_comparable(default):
            told = f"nothing but infinity or NaN in {', '.join(without[:3])}"
            notify(f"warning: {told}: {INPUTS_HINT}")
        choice = choose(
            maker, variants, plain, runner, folder, place, OPTIONS_SHARE * seconds,
            min(BRIEF_SHARE * seconds, MOST_BRIEF), further=session.before is not None,
        )  # fmt: skip
        base, plan = choice.base, choice.plan
        tracker = stack.enter_context(Tracker(notify=notify))
        tags = {
            "mode": "tune_model",
            "model": options.input.name,
            "arch": network.target.arch,
            "target": options.target,
            "device": place.fingerprint,
        }
        tracker.start(folder.path.name, asdict(options), tags)
        flags = (*options.iree_flags, *base.variant.flags)
        tuning = replace(options, device=place.asked, cluster=place.cluster, iree_flags=flags)
        until = deadline - TRIAL_SHARE * seconds
        profiles = backend_named(network.target.backend).profiles
        if profiles and plan.alone is not None:
            # What was tuned in the model has no run to go on with: that goes by the first session.
            alone = tuple(hot for hot in plan.hot if hot.name in plan.alone)
        else:
            done = [hot for hot in plan.hot if folder.run_of(hot).result.exists()]
            alone = tuned_alone(plan, until - time.monotonic(), in_model=profiles, done=done)
            folder.save_plan(replace(plan, alone=tuple(hot.name for hot in alone)))
        coming = plan.hot if profiles else alone
        runs = tune_hot_dispatches(
            coming,
            alone,
            folder,
            tuning,
            until,
            make_observer,
            notify,
            further=session.before is not None,
        )
        specs = {hot.name: best_specs(hot, runs[hot.name], folder, flags) for hot in alone}
        tuned: dict[str, TuneResult | InModelResult | str] = {**runs}
        compiler = stack.enter_context(maker.compiler(base))
        small = [hot for hot in plan.hot if hot not in alone]
        if small and not profiles:
            tuned |= dict.fromkeys((hot.name for hot in small), NO_TIME)
        elif small:
            found, best = tune_in_model(
                small, base, maker, runner, default, compiler.folder, folder, tuning,
                place.fingerprint, until,
            )  # fmt: skip
            tuned |= found
            specs |= best
        trial = NetworkTrial(
            compiler, runner, options.starter, base.compiled, default,
            options.seed, deadline - FINISH_SHARE * seconds, notify,
            None if profiles else {name: speedup_alone(run) for name, run in runs.items()},
        )  # fmt: skip
        written = write_specs(specs, folder)
        chosen = trial.decide([(hot, written.get(hot.name, [])) for hot in plan.hot])
        end = finish(chosen, base, choice.bases, maker, runner, options.seed, deadline)
        before = session.before
        stays = before is not None and (before.flags or before.spec) and is_behind(
            end, before.options, before.spec, variants, choice.bases, maker, runner, options.seed
        )  # fmt: skip
        tracker.prepare()
        result = NetworkResult.build(
            plan, tuned, chosen, end, choice.outcomes, base.variant,
            baseline_us=run_us, run=folder.path, seconds=time.monotonic() - session.started,
            profiled=profiles,
        )  # fmt: skip
        if before is not None and stays:
            notify("nothing better was found: what the earlier session wrote stays")
            result = before.with_tries_of(result)
        with folder.came_to.replaced():
            if not stays:
                write_winner(folder, end, place.fingerprint)
            write_text(folder.report, report(result, options))
            write_text(folder.result, result.to_json())
        _track(tracker, folder, result)
    shutil.rmtree(folder.work, ignore_errors=True)
    return result


def _track(tracker: Tracker, folder: NetworkFolder, result: NetworkResult) -> None:
    tracker.log_page(folder.path)
    for row in result.dispatches:
        figures = {"share": row.share, "speedup": row.gain, "kept": float(row.kept)}
        figures |= {"candidates": float(row.candidates), "seconds": row.seconds}
        tracker.log_child_run(
            row.name,
            {"members": len(row.members), "reason": row.reason},
            figures,
            {"mode": "dispatch", "kept": row.kept},
        )
    scripts = sorted(folder.scripts.glob("*"))
    for path in (folder.flags, *scripts, folder.spec, folder.result, folder.report):
        if path.exists():
            tracker.log_artifact(path)
    tracker.finish(metrics=result.metrics())
