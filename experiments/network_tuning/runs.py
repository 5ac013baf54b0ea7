"""Tunes a whole model: finds the dispatches that matter, tunes each, proves them together."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from ...benchmarks.cluster import open_devices
from ...benchmarks.compiling import Compiler, raise_if_killed
from ...benchmarks.libraries import measure_peak
from ...benchmarks.measuring import (
    NOT_APPLIED,
    OK,
    CompileOutcome,
    check_drivers,
    check_uris,
    fingerprint,
    shares_cores,
)
from ...benchmarks.networks import (
    Archives,
    DispatchTime,
    MakeChild,
    NetworkFailed,
    NetworkRunner,
    NetworkSetup,
    Speedup,
    check_archives,
    prepare_inputs,
)
from ...core import Child, InputError, Notify, WorkError, lock_folder, make_folder
from ...models import resolve_ranker
from ...search import Target, tunable_kinds_text
from ...search.linking import find_matches, link_specs
from ...search.reading import Network, read_network
from ..interrupted import resumable
from ..observing import Tracker
from ..tuning import write_text
from .dispatches import MakeObserver, best_specs, tune_hot_dispatches
from .folder import NetworkFolder, open_new_folder
from .onnx_import import as_mlir
from .options import NetworkOptions
from .plan import Plan, make_plan
from .result import NetworkResult
from .summary import report
from .trial import NetworkTrial

COMPILE_TIMEOUT, LEAST_TIMEOUT = 1800.0, 30.0
# How much longer than the default a variant of the model may compile.
TIMEOUT_RATIO = 5.0
# Of the time: to try in the model what was found. Of 15 minutes, three.
TRIAL_SHARE = 0.2
# Sets of inputs on which outputs are compared.
INPUT_SETS = 3


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
        _opened(options, notify) as (network, weighted),
        open_new_folder(options) as folder,
        resumable(folder.path),
    ):
        return _tune(network, folder, weighted, started, make_observer, notify)


def resume_network_run(
    path: Path,
    make_observer: MakeObserver,
    notify: Notify,
    input: Path | None = None,
    cluster: str | None = None,
    iree_flags: Sequence[str] = (),
) -> NetworkResult:
    """Goes on where tuning a model stopped; no dispatch is tuned again.

    Args:
        input: must be what it was started with, where given.
        cluster: the address of one, of what was started on a cluster.
        iree_flags: those that it was started with, which no file is trusted with.
    """
    started = time.monotonic()
    folder = NetworkFolder(path)
    options = folder.load(input, cluster, iree_flags)
    if (done := NetworkResult.read(folder.result)) is not None:
        return done
    with lock_folder(path), _opened(options, notify) as (network, weighted):
        return _tune(network, folder, weighted, started, make_observer, notify)


@contextmanager
def _opened(options: NetworkOptions, notify: Notify) -> Iterator[tuple[Network, NetworkOptions]]:
    """The model, and the options with all archives that it needs, as long as they are there."""
    _check(options)
    notify(f"reading {options.input}")
    with as_mlir(options) as (mlir, parameters):
        yield _read(options, mlir, parameters), replace(options, parameters=parameters)


def _check(options: NetworkOptions) -> None:
    """Refuses what can be refused before the compiler is asked.

    Raises:
        InputError: naming what cannot be used.
    """
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


def _read(options: NetworkOptions, mlir: Path, parameters: Archives) -> Network:
    network = read_network(
        mlir,
        options.target,
        str(options.input),
        default_specs=options.default_specs,
        iree_flags=options.iree_flags,
    )
    check_archives(parameters, network.parameters)
    target = network.target
    if options.cluster is None:
        check_drivers([options.device] if options.device else [], target.drivers, target.arch)
        fingerprint(options.device or target.drivers[0])  # refused where it does not answer
    return network


def _tune(
    network: Network,
    folder: NetworkFolder,
    options: NetworkOptions,
    started: float,
    make_observer: MakeObserver,
    notify: Notify,
) -> NetworkResult:
    shutil.rmtree(folder.work, ignore_errors=True)
    make_folder(folder.work, "move away what is there")
    deadline = started + 60 * options.minutes
    with ExitStack() as stack:
        place = stack.enter_context(_opened_device(options, network.target, notify))
        subject = _subject(network, options, place.uri, folder.work)
        compiler = stack.enter_context(Compiler(network, folder.work, 1, COMPILE_TIMEOUT, tries=2))
        runner = stack.enter_context(NetworkRunner(subject, place.make_child))
        notify("compiling the model as it is")
        default = _default(compiler, network, options.starter, notify)
        # Variants of the model take as long as it does, or they hang.
        compiler.timeout = max(LEAST_TIMEOUT, TIMEOUT_RATIO * default.seconds)
        run_us = _run_once(runner, default)
        plan = folder.plan()
        files = folder.write_dispatches(network.dispatches)
        if plan is None:
            notify("profiling the model")
            shares = runner.profile(default.executable)
            plan = _plan(network, files, shares, options, here=place.shares_cores)
            folder.save_plan(plan)
        tracker = stack.enter_context(Tracker(notify=notify))
        tags = {"mode": "tune_model", "arch": network.target.arch}
        tracker.start(folder.path.name, asdict(options), tags)
        tuning = replace(options, device=place.asked, cluster=place.cluster)
        until = deadline - TRIAL_SHARE * 60 * options.minutes
        tuned = tune_hot_dispatches(plan, folder, tuning, until, make_observer, notify)
        trial = NetworkTrial(
            compiler, runner, options.starter, default, folder.work, options.seed, deadline, notify
        )
        flags = options.iree_flags
        chosen = trial.decide(
            [(hot, best_specs(hot, tuned[hot.name], folder, flags)) for hot in plan.hot]
        )
        if chosen.spec is not None and chosen.gain is not None:
            write_text(folder.spec, _comment(chosen.gain, place.fingerprint) + chosen.spec)
        result = NetworkResult.build(
            plan, tuned, chosen,
            baseline_us=run_us, spec=folder.spec, run=folder.path,
            seconds=time.monotonic() - started,
        )  # fmt: skip
        write_text(folder.report, report(result, options))
        write_text(folder.result, result.to_json())
        _track(tracker, folder, result)
    shutil.rmtree(folder.work, ignore_errors=True)
    return result


@dataclass(frozen=True)
class _Device:
    """What the model is measured on.

    Attributes:
        uri: as the machine that it is in knows it.
        make_child: makes processes beside it.
        shares_cores: whether it is this machine's CPU.
        asked: what dispatches are measured on: it, or all of its kind.
        cluster: the address of the cluster that it is of.
    """

    uri: str
    fingerprint: str
    make_child: MakeChild
    shares_cores: bool
    asked: str
    cluster: str | None = None


@contextmanager
def _opened_device(options: NetworkOptions, target: Target, notify: Notify) -> Iterator[_Device]:
    if options.cluster is None:
        uri = options.device or target.drivers[0]
        yield _Device(uri, fingerprint(uri), Child, shares_cores(uri), uri)
        return
    asked = (options.device,) if options.device else ()
    with closing(open_devices(options.cluster, target.name, asked, notify)) as found:
        first, *_ = found.names
        notify(f"the model on {first}, dispatches on {', '.join(found.names)}")
        child = partial(found.child, first)
        address = found.cluster.address
        yield _Device(found.uri(first), found.kind, child, False, found.kind, address)


def _subject(network: Network, options: NetworkOptions, device: str, folder: Path) -> NetworkSetup:
    function = network.function(options.function)
    seeds = [options.seed + 1000 * n for n in range(INPUT_SETS)]
    inputs = prepare_inputs(function, options.inputs, folder, seeds)
    outputs = tuple(o.dtype for o in function.outputs)
    return NetworkSetup(device, function.name, tuple(inputs), outputs, options.parameters)


def _default(
    compiler: Compiler, network: Network, starter: Sequence[Path], notify: Notify
) -> CompileOutcome:
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
            notify(f"conflict: {conflict}")
        for name, dispatches in find_matches(network, linked).by_matcher.items():
            if not dispatches:
                notify(f"warning: {name} matches nothing in this model")
        (default,) = compiler.compile([("starter", linked.text)])
        raise_if_killed(default, "the model with --spec")
        if default.kind == NOT_APPLIED:
            default = replace(default, kind=OK)  # specs of other tools leave no mark
    if default.kind != OK:
        what = "the model does not compile with --spec" if starter else "the model does not compile"
        raise InputError(f"{what}: {default.reason}", "see that iree-compile accepts it")
    return default


def _run_once(runner: NetworkRunner, default: CompileOutcome) -> float:
    try:
        return runner.measure_speedup(
            default.executable, default.executable, seed=0, rounds=1
        ).before_us
    except NetworkFailed as failure:
        raise WorkError(
            f"the model does not run: {failure}", "see that iree-run-module runs it"
        ) from failure


def _plan(
    network: Network,
    files: Mapping[str, Path],
    shares: Sequence[DispatchTime],
    options: NetworkOptions,
    *,
    here: bool,
) -> Plan:
    """What is worth tuning.

    Args:
        here: whether it runs on this machine's CPU, of which it can be told what it reaches.

    Raises:
        InputError: nothing is.
    """
    dispatches = {d.name: d for d in network.dispatches}
    peak = measure_peak() if here else None
    flags = options.iree_flags
    plan = make_plan(shares, dispatches, files, options.coverage, options.target, peak, flags)
    if not plan.hot:
        most = ", ".join(f"{r.share:.0%} {r.name} ({r.reason})" for r in plan.rest[:3])
        raise InputError(
            f"{options.input} has no hot dispatch that can be tuned; its time goes to: {most}",
            f"{tunable_kinds_text()}; try a larger --coverage",
        )
    return plan


def _comment(gain: Speedup, device: str) -> str:
    return (
        f"// Expected speedup of the model: {gain.speedup:.2f}x on {device} "
        f"(noise floor {gain.noise_floor:.1%}, default {gain.before_us / 1e3:.1f} ms).\n"
    )


def _track(tracker: Tracker, folder: NetworkFolder, result: NetworkResult) -> None:
    for row in result.dispatches:
        figures = {"share": row.share, "speedup": row.speedup, "kept": float(row.kept)}
        figures |= {"candidates": float(row.candidates), "seconds": row.seconds}
        tracker.log_child_run(
            row.name, {"members": len(row.members), "reason": row.reason}, figures
        )
    for path in (folder.spec, folder.result, folder.report):
        if path.exists():
            tracker.log_artifact(path)
    tracker.finish(metrics=result.metrics())
