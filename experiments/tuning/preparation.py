"""What precedes measuring: a dispatch is read, its candidates are put in order."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ...benchmarks.cluster import choose_devices, hosts_of
from ...benchmarks.compiling import call_of
from ...benchmarks.measuring import check_uris, fingerprint
from ...benchmarks.verifying import check_memory
from ...core import InputError, Notify, NotTunableError, check_regular
from ...features import catalogue_for_target
from ...models import AdaptiveRanker, default_ranker, resolve_ranker
from ...search import Dispatch, Target, has_space
from ...search.reading import read_dispatch
from ..device_checks import check_code, check_devices
from ..learning import device_warning, predictor_for, saved_predictors
from ..observing import Observer
from ..queue import make_queue
from .manifest import RunManifest, RunSetup
from .options import TuneOptions
from .stage_judges import check_models
from .stages import check_usable


def prepare(
    options: TuneOptions,
    observer: Observer,
    *,
    own_runner: bool = False,
    before_ranking: Callable[[Dispatch], object] = lambda dispatch: None,
) -> RunSetup:
    """Reads the input and ranks its candidates; writes nothing.

    Args:
        own_runner: whether a runner of the user's own measures, wherever its devices are.
        before_ranking: called with what was read, when all is checked.

    Returns:
        With the options as given, and the target's usual ranker and device where none was.

    Raises:
        InputError: something given cannot be used.
        WorkError: a device does not answer.
    """
    if options.cluster is None:
        check_uris(options.devices or ())
    if options.ranker is not None:
        resolve_ranker(options.ranker, seed=options.seed)  # refused before the compiler is asked
    check_usable(options.stages, options.pipeline, on_cluster=options.cluster is not None)
    dispatch = read_dispatch(
        options.input,
        options.target,
        function=options.function,
        default_specs=options.default_specs,
        iree_flags=options.iree_flags,
    )
    target = dispatch.target
    if options.cluster is not None:
        asked = options.devices or ()
        hosts = hosts_of(options.cluster, target.drivers, asked, observer.notify)
        chosen = choose_devices(hosts, target.name, asked)
        # By their names, those that join later would not be asked for.
        options = replace(options, devices=asked or (chosen.kind,))
        observer.notify(f"on {', '.join(one.name for _, one in chosen.devices)}")
        fingerprints = [chosen.kind]
    else:
        if options.devices is None:
            options = replace(options, devices=target.drivers[:1])
        if own_runner:
            fingerprints = list(options.devices or ())
        else:
            check_devices(options.devices or (), target, observer.notify, ", or --compile-only")
            check_code(options.devices or (), target, dispatch.default)
            fingerprints = [fingerprint(uri) for uri in options.devices or ()]
    devices = options.devices or ()
    if options.ranker is None:
        options = replace(options, ranker=usual_ranker(fingerprints, target, observer.notify))
    name = options.ranker or ""
    # Of a cluster, its hosts make the inputs.
    if devices and options.cluster is None and not own_runner:
        call = call_of(dispatch)
        # As what measures it checks: candidates and the default have inputs of their own.
        check_memory((*call.inputs, *call.inputs, *call.outputs))
    ranker = resolve_ranker(name, seed=options.seed)
    if warning := device_warning(ranker, fingerprints, target.arch, catalogue_for_target(target)):
        observer.notify(warning)
    check_models(options.stages, target)  # before hours of screening
    looks_back = isinstance(ranker, AdaptiveRanker)
    if looks_back and not devices:
        observer.notify(f"nothing is measured, so {name} keeps the order that it starts from")
        looks_back = False
    notify_of(dispatch, observer)
    before_ranking(dispatch)
    observer.on_phase("ranking candidates")
    queue = make_queue(
        dispatch,
        ranker,
        pool=options.pool,
        seed=options.seed,
        pipeline=options.pipeline,
        extras=options.extras,
        # Where nothing can win, no pipeline may take the whole budget.
        alternate=options.compile_only,
    )
    manifest = RunManifest(
        options,
        digest_of_file(options.input),
        tuple(fingerprints),
        looks_back,
        on_cluster=options.cluster is not None,
        own_runner=own_runner,
    )
    return RunSetup(manifest, dispatch, queue)


def usual_ranker(devices: Sequence[str], target: Target, notify: Notify) -> str:
    """A predictor of these very devices, if one is kept; else the target's usual ranker."""
    kept = predictor_for(devices, target)
    if kept is None:
        for one in saved_predictors() if devices else ():
            if one.error:
                notify(f"{one.path} is not used: {one.error}")
        return default_ranker(target)
    notify(f"ordered by {kept.path}, which was trained on {', '.join(kept.devices)}")
    # A name that is no path would be taken for a ranker's.
    return str(kept.path.absolute())


def notify_of(dispatch: Dispatch, observer: Observer) -> None:
    """Tells what the user should know of a dispatch before its candidates are tried."""
    if dispatch.others:
        observer.notify(f"not tuned, but timed with it: {', '.join(dispatch.others)}")
    if dispatch.f64_remark:
        observer.notify(dispatch.f64_remark)
    with suppress(NotTunableError):  # by the compiler, and maybe by a pipeline with one of its own
        if dispatch.no_constraints_reason and has_space(dispatch):
            observer.notify(f"the space is frontrunner's own: {dispatch.no_constraints_reason}")


def digest_of_file(path: Path) -> str:
    """Tells whether a run's input is still the same.

    Raises:
        InputError: it cannot be read.
    """
    # Also of one that is larger than what is read whole.
    remedy = "if it was moved, move it back"
    check_regular(path, remedy)
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", remedy) from error
