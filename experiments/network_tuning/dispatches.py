"""Tunes the hot dispatches of a model, one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from ...benchmarks.compiling import ModelAssembler
from ...benchmarks.measuring import Budget, FinalistResult
from ...benchmarks.networks import NetworkRunner
from ...core import (
    FrontrunnerError,
    InputError,
    Notify,
    ResumableError,
    WorkError,
    make_folder,
)
from ...search import Target, TuningSpec, spec_of, spec_texts
from ..observing import Observer
from ..queue import renderer
from ..tuning import (
    RunFolder,
    TuneOptions,
    TuneResult,
    resume_run,
    start_run,
    usual_ranker,
    write_text,
)
from .bases import Base, BaseMaker
from .in_model import PART_TIMEOUT, InModelResult, InModelSearch
from .planning import MAKE_ROOM, NO_TIME, TIME_UP, HotDispatch, NetworkFolder, NetworkOptions, Plan
from .queued import queue_dispatches, read_tried
from .trial import MAX_TRIED

# Seconds that tuning a dispatch takes beside taking candidates: reading, ranking, the finals.
OVERHEAD_SECONDS = 18.0
LEAST_SECONDS = 10.0
PATIENCE = 96
# Of the time that dispatches take with the best of their first six candidates, what they take after
# minutes: 0.90 to 0.99 in five models (Zen 4).
MORE_TUNED = 0.97
# Dispatches of which candidates are tried before options are chosen: ranking those of one takes 1 s
# and more. With 16 dispatches of a ConvNeXt, 30 s were over before the first was timed.
FEW = 6

MakeObserver = Callable[[], Observer]


def tune_hot_dispatches(
    hot_dispatches: Sequence[HotDispatch],
    chosen: Sequence[HotDispatch],
    folder: NetworkFolder,
    options: NetworkOptions,
    deadline: float,
    make_observer: MakeObserver,
    notify: Notify,
    *,
    further: bool = False,
) -> dict[str, TuneResult | str]:
    """Tunes dispatches by themselves, in turn; each gets its share of the time that is left.

    Args:
        hot_dispatches: all that time is to be left for, the most promising first.
        chosen: those of them that are tuned here, in the same order.
        deadline: when the last one is to be done, as `time.monotonic` has it.
        further: whether to go on with those that are done but for more time.

    Returns:
        By name, the run, or why there is none.

    Raises:
        KilledError: a process was killed from outside; resuming goes on from there.
    """
    found: dict[str, TuneResult | str] = {}
    coming = list(hot_dispatches)
    for place, hot in enumerate(chosen):
        share = hot.weight / sum(one.weight for one in coming)
        seconds = (deadline - time.monotonic()) * share
        coming.remove(hot)
        run = folder.run_of(hot)
        done, late = TuneResult.read(run.result), time.monotonic() > deadline
        budget = Budget(
            seconds=max(LEAST_SECONDS, seconds - OVERHEAD_SECONDS),
            patience=PATIENCE + (done.candidates if done else 0),
        )
        if done is not None and (late or not further):
            found[hot.name] = done
        elif late:
            found[hot.name] = NO_TIME
        else:
            notify(
                f"tuning {hot.name}: {hot.share:.1%} of the time, "
                f"{budget.seconds:.0f} s ({place + 1} of {len(chosen)})"
            )
            outcome = _tune_one(hot, run, budget, options, make_observer, notify)
            found[hot.name] = done if done and isinstance(outcome, str) else outcome
    return found


def _tune_one(
    hot: HotDispatch,
    run: RunFolder,
    budget: Budget,
    options: NetworkOptions,
    make_observer: MakeObserver,
    notify: Notify,
) -> TuneResult | str:
    """A dispatch's run, or why there is none: one that fails is no reason to give the others up.

    Raises:
        KilledError: a process was killed from outside; resuming goes on from there.
    """
    tune_options = TuneOptions(
        input=hot.file,
        out=run.path,
        budget=budget,
        ranker=options.ranker,
        devices=(options.device or "",),
        cluster=options.cluster,
        target=options.target,
        default_specs=options.default_specs,
        iree_flags=options.iree_flags,
        seed=options.seed,
        jobs=options.jobs,
        pool=options.pool,
    )
    begun = run.path.exists()
    try:
        with closing(make_observer()) as observer:
            if begun:
                result = resume_run(
                    run.path,
                    budget,
                    observer,
                    cluster=options.cluster,
                    iree_flags=options.iree_flags,
                    tracked=False,
                )
            else:
                result = start_run(tune_options, observer, tracked=False)
    except ResumableError:
        raise
    except FrontrunnerError as error:
        if begun and isinstance(error, InputError):
            # What was read once, and is there, was damaged since.
            raise InputError(str(error), f"remove {run.path}, to tune it anew") from error
        notify(f"{hot.name} is left out: {error}")
        return str(error)
    assert isinstance(result, TuneResult)
    return result


def best_specs(
    hot: HotDispatch,
    tuned: TuneResult | str,
    folder: NetworkFolder,
    iree_flags: tuple[str, ...] = (),
) -> list[TuningSpec]:
    """Specs of a dispatch's best candidates, the best one first.

    They only have to be faster than the default: whether by more than noise is for the model to
    say, where it is measured anew.
    """
    if isinstance(tuned, str):
        return []
    better = _faster(tuned)[:MAX_TRIED]
    if not better:
        return []
    run = folder.run_of(hot).load(iree_flags)
    render = renderer(run.dispatch, run.queue)
    return [spec_of(run.dispatch, render(standing.index)) for standing in better]


def write_specs(
    specs: Mapping[str, Sequence[TuningSpec]], folder: NetworkFolder
) -> dict[str, list[Path]]:
    """Writes the specs of each dispatch's candidates, by one process for all."""
    texts = iter(spec_texts([spec for several in specs.values() for spec in several]))
    paths: dict[str, list[Path]] = {}
    for name, several in specs.items():
        paths[name] = [folder.work / f"{name}-{place}.mlir" for place in range(len(several))]
        for path in paths[name]:
            write_text(path, next(texts), MAKE_ROOM)
    return paths


def speedup_alone(run: TuneResult | str) -> float:
    """Of the candidate that is tried first in the model."""
    better = [] if isinstance(run, str) else _faster(run)
    return better[0].speedup if better else 1.0


def _faster(run: TuneResult) -> list[FinalistResult]:
    """Finalists that are faster than the default: the winner, and then the others, best first."""
    better = [one for one in run.finalists if one.interval[0] > 1]
    return sorted(better, key=lambda one: one.index + 1 != run.winner)


def tune_in_model(
    hot_dispatches: Sequence[HotDispatch],
    base: Base,
    maker: BaseMaker,
    runner: NetworkRunner,
    default: Path,
    parts: Path,
    folder: NetworkFolder,
    options: NetworkOptions,
    device: str,
    deadline: float,
) -> tuple[dict[str, InModelResult | str], dict[str, list[TuningSpec]]]:
    """Tunes dispatches together, in the model.

    Args:
        base: what they are tuned with.
        default: the model as it is by default, which computes what is right.
        parts: where its executables go.
        options: as dispatches are tuned with.
        device: its fingerprint.
        deadline: as `time.monotonic` has it.

    Returns:
        By name, what came of each, or why nothing was tried; and the specs of the best candidates
        of those that have any, the best first.

    Raises:
        KilledError: a process was killed from outside; resuming goes on from there.
    """
    if time.monotonic() > deadline and not folder.candidates.exists():
        return {hot.name: TIME_UP for hot in hot_dispatches}, {}  # ranking them would take a while
    target, jobs, notify = base.network.target, options.jobs, maker.notify
    ranker = options.ranker or _kept_ranker(folder, target, device, notify)
    queued, failed = queue_dispatches(hot_dispatches, target, options, ranker, notify)
    with ModelAssembler(base.network, parts, jobs, PART_TIMEOUT, base.timeout) as assembler:
        search = InModelSearch(assembler, runner, maker.starter, default, folder.candidates, notify)
        found = search.search(queued, deadline, MAX_TRIED)
    best = {
        one.hot.name: [one.spec(at) for at in done.best]
        for one in queued
        if isinstance(done := found[one.hot.name], InModelResult)
    }
    return failed | found, best


def left_by_a_few(
    plan: Plan,
    base: Base,
    maker: BaseMaker,
    runner: NetworkRunner,
    default: Path,
    folder: NetworkFolder,
    device: str,
    deadline: float,
) -> float | None:
    """The share of a model's time in dispatches that tuning leaves, by a few candidates.

    They are of the most promising dispatches; of others, it is what the plan expects.

    Args:
        folder: with the plan, and the dispatches that it names.
        default, device, deadline: as of `tune_in_model`.

    Returns:
        None where no candidate was tried.

    Raises:
        KilledError: a process was killed from outside.
    """
    parts, few = folder.path / "parts", plan.hot[:FEW]
    make_folder(parts, "move away what is there")
    try:
        tune_in_model(
            few, base, maker, runner, default, parts, folder, maker.options, device, deadline
        )
    except ResumableError:
        raise
    except WorkError as error:
        maker.notify(f"no candidate was tried with {base.variant.name}: {error}")
    best: dict[str, float] = {}
    for one in read_tried(folder.candidates):
        best[one.dispatch] = max(best.get(one.dispatch, 1.0), one.speedup or 1.0)
    if not best:
        return None
    after_us = sum(hot.time_us / best.get(hot.name, 1.0) for hot in few)
    saved_us = sum(hot.time_us for hot in few) - MORE_TUNED * after_us
    expected_us = sum(hot.expected_us for hot in plan.hot[FEW:])
    return 1 - (saved_us + expected_us) / plan.total_us


def _kept_ranker(folder: NetworkFolder, target: Target, device: str, notify: Notify) -> str:
    """The ranker of the first session: in another order, all would be tried anew.

    By now there may be another predictor, or this session may look elsewhere for one.
    """
    plan = folder.plan()
    assert plan is not None, "there is something to tune"
    kept = plan.ranker
    if not kept or (Path(kept).is_absolute() and not Path(kept).exists()):
        kept = usual_ranker([device], target, notify)
        folder.save_plan(replace(plan, ranker=kept))
    return kept
