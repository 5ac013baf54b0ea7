"""Chooses the options of the compiler that a model's dispatches are tuned with.

What is faster untuned may leave less to tune. So a model is profiled with the fastest options, and
what tuning comes to is estimated; where that decides little, a few candidates are tried.
"""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ...benchmarks.libraries import measure_peak
from ...benchmarks.networks import NetworkFailed, NetworkRunner
from ...core import InputError, ResumableError, WorkError, make_folder
from ...search import backend_named, tunable_kinds_text
from .bases import Base, BaseMaker, dispatch_times, killed_alone, made_again
from .device import NetworkDevice
from .dispatches import left_by_a_few
from .planning import (
    NO_TIME,
    PLAIN,
    NetworkFolder,
    OptionVariant,
    Plan,
    TriedVariants,
    VariantOutcome,
    make_plan,
)
from .trying import try_variants

# The power by which an expected gain counts: speed that is there already is certain. With 1, a
# ConvNeXt and a Llama would be tuned with the usual options; from 0.77 to 0.84, seven models are
# tuned with what they came out fastest with, of all that was ever chosen for them.
COUNTED_GAIN = 0.8
# What is expected to take so many times as long as the best may be faster: what a model's
# dispatches take when they are tuned is foretold within a factor of 1.2.
RIVAL = 1.3
# So many beside the best are tried: each takes a twelfth of the time.
MOST_RIVALS = 2
# Less than this, in seconds, tells nothing of a model: reading, ranking and compiling it in parts
# takes half of it.
LEAST_BRIEF = 20.0


@dataclass(frozen=True)
class Choice:
    """What the dispatches of a model are tuned with, and what else was tried.

    Attributes:
        outcomes: of other options.
        bases: the usual options, and those that are faster.
        base: the one of these that dispatches are tuned with.
        plan: which these are.
    """

    outcomes: tuple[VariantOutcome, ...]
    bases: tuple[Base, ...]
    base: Base
    plan: Plan


def choose(
    maker: BaseMaker,
    variants: Sequence[OptionVariant],
    plain: Base,
    runner: NetworkRunner,
    folder: NetworkFolder,
    device: NetworkDevice,
    seconds: float,
    brief: float = 0.0,
    *,
    further: bool = False,
) -> Choice:
    """Tries options and plans what to tune, where no earlier session did.

    Args:
        seconds: as long as options are tried; the last one may take longer.
        brief: how long candidates are tried with each of the best ones then, as `choose_base` does.
        further: whether an earlier session came to its end: options that it had no time for are
            tried, too. What it tuned with stays.

    Raises:
        InputError: nothing can be tuned, or what an earlier session chose cannot be used here.
        KilledError: the compiler or the model was killed.
    """
    options, cores = maker.options, plain.network.target.cores if device.shares_cores else 0
    tried, plan = folder.tried(variants), folder.plan()
    if tried is None and plan is not None and folder.is_without_options:
        tried = TriedVariants((), PLAIN.name, ())
    if tried is not None:
        tried.check_device(folder.path, device.fingerprint, cores)
    until = time.monotonic() + seconds

    def keep(outcomes: Sequence[VariantOutcome], faster: Sequence[Base], tuned: str = "") -> None:
        names = _names(faster)
        if tuned not in ("", PLAIN.name, *names):
            names += (tuned,)
        told = TriedVariants(tuple(outcomes), tuned, names, device.fingerprint, cores)
        folder.save_tried(told)

    def try_others(keep: Callable[..., None]) -> tuple[list[VariantOutcome], list[Base]]:
        return try_variants(maker, variants, plain, runner, until, options.seed, keep, tried)

    if tried is not None and tried.tuned and plan is not None:
        outcomes, to_make = [*tried.outcomes], tried.faster
        faster: list[Base] = []
        if further and any(one.reason == NO_TIME for one in outcomes):
            outcomes, faster = try_others(partial(keep, tuned=tried.tuned))
            to_make = () if tried.tuned in (PLAIN.name, *_names(faster)) else (tried.tuned,)
            keep(outcomes, faster, tried.tuned)
        faster += made_again(maker, replace(tried, faster=to_make), variants, plain)
        base = next(one for one in (plain, *faster) if one.variant.name == tried.tuned)
        return Choice(tuple(outcomes), (plain, *faster), base, plan)
    outcomes, faster = try_others(keep)
    bases = (plain, *faster)
    base, plan = choose_base(bases, folder, runner, maker, device, brief)
    if tried is None or tried.tuned != base.variant.name:
        # Whoever removed the file of a choice may have runs with the options of that one.
        folder.remove_runs()
    keep(outcomes, faster, base.variant.name)
    folder.save_plan(plan)
    return Choice(tuple(outcomes), bases, base, plan)


def _names(bases: Sequence[Base]) -> tuple[str, ...]:
    return tuple(one.variant.name for one in bases)


def choose_base(
    bases: Sequence[Base],
    folder: NetworkFolder,
    runner: NetworkRunner,
    maker: BaseMaker,
    device: NetworkDevice,
    brief: float = 0.0,
) -> tuple[Base, Plan]:
    """Plans what to tune with each base, and tells where the model is expected to be fastest then.

    Data tiling, say, makes a model faster at once, but leaves little that can be tuned.

    Args:
        bases: the usual options first.
        brief: seconds to try candidates with each of those that may be the best.

    Returns:
        Of the bases that have something to tune, the one that is expected to be fastest in the end,
        and its plan, whose dispatches are written; where none has, the fastest.

    Raises:
        InputError: no dispatch can be tuned, and no base is faster than the first.
    """
    every = _prospects(bases, folder, runner, maker, device)
    # A base without anything to tune is compared with in the end all the same.
    tunable = [one for one in every if one.plan.hot]
    best = min(tunable or every, key=lambda one: one.counted)
    backend = backend_named(bases[0].network.target.backend)
    if not tunable and len(bases) == 1:
        gpu, input = backend.gpu, maker.options.input
        most = ", ".join(f"{r.share:.0%} {r.name} ({r.reason})" for r in best.plan.rest[:3])
        raise InputError(
            f"{input} has no hot dispatch that can be tuned; its time goes to: {most}",
            f"{tunable_kinds_text(gpu=gpu)}; try a larger --coverage",
        )
    others = [o for o in tunable if o is not best and o.expected <= RIVAL * best.expected]
    others = sorted(others, key=lambda one: one.expected)[:MOST_RIVALS]
    if others and backend.profiles and brief >= LEAST_BRIEF:
        best = _tried(best, others, bases[0], maker, runner, device, brief)
        if best.folder.candidates.exists() and not folder.candidates.exists():
            best.folder.candidates.replace(folder.candidates)  # which are not tried again
    base, plan = best.base, best.folder.plan() or best.plan  # with the ranker, if it was tried
    for one in every:
        shutil.rmtree(one.folder.path)
    files = folder.write_dispatches(base.network.dispatches)
    hot = tuple(replace(one, file=files[one.members[0]]) for one in plan.hot)
    if len(bases) > 1:
        maker.notify(f"tuning dispatches with {base.variant.name}")
    return base, replace(plan, hot=hot)


@dataclass(frozen=True)
class _Prospect:
    """What may come of tuning with a base.

    Attributes:
        folder: of its own, with its dispatches.
        left: of the time that the model's dispatches take, the share that is expected in the end.
    """

    base: Base
    plan: Plan
    folder: NetworkFolder
    left: float

    @property
    def expected(self) -> float:
        """Of the time with the usual options, what the model takes in the end."""
        return self.left / self.base.speedup

    @property
    def counted(self) -> float:
        """The same, where gains that are only expected count less."""
        return math.pow(self.left, COUNTED_GAIN) / self.base.speedup


def _prospects(
    bases: Sequence[Base],
    folder: NetworkFolder,
    runner: NetworkRunner,
    maker: BaseMaker,
    device: NetworkDevice,
) -> list[_Prospect]:
    """Profiles the model of each base; those are missing whose dispatches cannot be timed."""
    options, notify = maker.options, maker.notify
    peak = measure_peak() if device.shares_cores else None
    found: list[_Prospect] = []
    for number, base in enumerate(bases):
        notify(f"profiling the model with {base.variant.name}")
        own = NetworkFolder(folder.work / f"base-{number}")
        make_folder(own.path, "move away what is there")
        files = own.write_dispatches(base.network.dispatches)
        try:
            shares = dispatch_times(base, files, runner, options, notify)
        except ResumableError:
            raise
        except WorkError as error:
            if base is bases[0]:
                raise
            notify(f"dispatches are not tuned with {base.variant.name}: {error}")
            continue
        named, target = {d.name: d for d in base.network.dispatches}, base.network.target
        plan = make_plan(shares, named, files, options.coverage, target, peak)
        total_us = sum(share.time_us for share in shares) or 1.0
        left = 1 - sum(hot.expected_us for hot in plan.hot) / total_us
        found.append(_Prospect(base, plan, own, left))
    return found


def _tried(
    best: _Prospect,
    others: Sequence[_Prospect],
    plain: Base,
    maker: BaseMaker,
    runner: NetworkRunner,
    device: NetworkDevice,
    brief: float,
) -> _Prospect:
    """The best by what a few candidates come to; the first one where none of it can be timed."""
    found, default = [], plain.compiled.executable
    for one in (best, *others):
        name = one.base.variant.name
        maker.notify(f"trying a few candidates with {name}")
        one.folder.save_plan(one.plan)
        where = one.folder, device.fingerprint, time.monotonic() + brief
        left = None
        try:
            with killed_alone(plain, runner):
                left = left_by_a_few(one.plan, one.base, maker, runner, default, *where)
        except NetworkFailed as failure:
            maker.notify(f"{name} is left out: {failure}")
        if left is None:
            if one is best:
                return best
            continue
        found.append(replace(one, left=left))
        maker.notify(f"tuned with {name}, the model may be {1 / found[-1].expected:.2f}x as fast")
    return min(found, key=lambda one: one.expected)
