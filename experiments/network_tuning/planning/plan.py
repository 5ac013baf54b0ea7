"""Which dispatches of a model are worth tuning."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ....benchmarks.libraries import Peak
from ....benchmarks.networks import DispatchTime
from ....core import ChildPool, FrontrunnerError, NotTunableError, decode
from ....search import Dispatch, Problem, Target, can_unroll, has_space, kind_of
from ....search.reading import READER, NetworkDispatch, read_dispatches

_FILE = re.compile(r"\w[\w.-]{0,200}", re.ASCII)
# Of the measured peak, what tuned dispatches come to, however slow they were: in 18 runs on 11
# models, batched products (also of one batch) and convolutions to 80 %, other products to 59 % and
# tiled ones to 71 %, most of which are small or wait for weights (Emerald Rapids). What a model's
# dispatches take in the end was foretold within a factor of 1.2, and of 1.5 by a share of the
# headroom: a vision transformer's products became five to six times as fast, a BERT's 1.7 times.
USUALLY_REACHED, USUALLY_REACHED_BY_PRODUCTS = 0.8, 0.55
# What the best candidates of some others reach. Five models' attention was tuned to 21 to 37 % (Zen
# 4), and a vision transformer's to 9 % (Emerald Rapids); a ResNet's convolutions of 7x7 pixels to
# 28 to 36 % in three runs, and those of 14x14 and more to 64 to 100 % (Emerald Rapids): each row of
# pixels reads the whole filter. A grouped convolution that stays scalar came to 5 % (Zen 4).
REACHED_BY_ATTENTION, REACHED_BY_SCALARS = 0.2, 0.05
REACHED_WITH_SMALL_IMAGES, SMALL_IMAGE = 0.35, 64
# Of the time of reductions and elementwise ops, what is saved: of nine 3 to 56 %, of 41 in 14 runs
# 46 % in all. What memory lets through tells nothing of those with data in caches.
STREAMED_HEADROOM = 0.4
# Of the time of what has no known peak, as on GPUs and where sizes differ, what may be saved.
UNKNOWN_GAIN = 0.5
# The share of its time that any dispatch has for headroom.
LEAST_HEADROOM = 0.05
# Why what could be tried or tuned was not.
NO_TIME = "no time was left for it"
ANOTHER = "with its sizes filled in, the compiler makes another op of it"
TIME_UP = "the time was up before a candidate was measured"
# What takes the time that is no dispatch's, where the runtime does not profile.
OTHERS = "all other dispatches"


@dataclass(frozen=True)
class HotDispatch:
    """Dispatches of one Problem, which one entry of a spec configures all.

    Attributes:
        members: names in the model, the one that takes most time first, of reductions the one with
            the longest rows fused to it.
        file: the first member, as MLIR.
        time_us: of a run of the model, all members together.
        share: of the model's time in dispatches.
        headroom_us: what may be saved: `time_us` less what its kind may reach; a little at least.
            A fixed share of it where memory is waited for.
        expected_us: of `time_us`, what is expected to be saved.
        dynamic: loops whose size is only known when the model runs; `file` has the largest that it
            is called with.
        least_us: of `time_us`, what the machine would need at its measured peak; 0 where it is not
            known, as where calls have different sizes, and where memory is waited for.
    """

    name: str
    problem: str
    members: tuple[str, ...]
    file: Path
    time_us: float
    share: float
    headroom_us: float
    dynamic: tuple[str, ...] = ()
    least_us: float = 0.0
    expected_us: float = 0.0

    @property
    def weight(self) -> float:
        """In sharing out time. Gains diminish: four times the headroom is worth twice the time."""
        return math.sqrt(self.headroom_us)


@dataclass(frozen=True)
class SkippedDispatch:
    """A dispatch that is not tuned, and why."""

    name: str
    share: float
    reason: str


@dataclass(frozen=True)
class Plan:
    """What is tuned, the most promising first, and what is not.

    Attributes:
        alone: names of those that are tuned by themselves; None as long as that is not known.
        ranker: the name of what orders the candidates of the others; empty as long as that is not
            known, and where the user gave one.
    """

    hot: tuple[HotDispatch, ...]
    rest: tuple[SkippedDispatch, ...]
    alone: tuple[str, ...] | None = None
    ranker: str = ""

    @property
    def total_us(self) -> float:
        """The model's time in dispatches; 0 if that is not known."""
        return next((one.time_us / one.share for one in self.hot if one.share), 0.0)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def read_plan(data: Any) -> Plan:
    """The inverse of `Plan.to_dict`, also after a round trip through JSON.

    Raises:
        ValueError: it is something else, or a dispatch's name could not be a file's.
    """
    plan = decode(Plan, data)
    for hot in plan.hot:
        if not _FILE.fullmatch(hot.name) or not _FILE.fullmatch(hot.file.name):
            raise ValueError(f"the name of a dispatch is {hot.name!r}")
        if min(hot.time_us, hot.share, hot.headroom_us, hot.least_us, hot.expected_us) < 0:
            raise ValueError(f"the times of {hot.name} are less than 0")
    if len({hot.name for hot in plan.hot}) < len(plan.hot):
        raise ValueError("two dispatches have one name")
    return plan


def make_plan(
    profile: Sequence[DispatchTime],
    dispatches: Mapping[str, NetworkDispatch],
    files: Mapping[str, Path],
    coverage: float,
    target: Target,
    peak: Peak | None,
) -> Plan:
    """Takes the dispatches that make up most of the time, and merges those of equal Problems.

    Where the first ones are tuned, others make up most of what is left; so these are taken, too.

    Args:
        profile: of the model.
        files: where each dispatch is, as MLIR.
        coverage: the share of the time that is looked at.
        target: of the model, as the compiler read it.
        peak: of the device; None takes all of a dispatch's time for headroom.

    Raises:
        KilledError: the compiler was killed while it read a dispatch, twice.
    """
    times = {share.name: share.time_us for share in profile}
    total = sum(times.values()) or 1.0
    read: dict[str, Dispatch | str] = {OTHERS: "the runtime does not tell what each takes"}
    hot: list[HotDispatch] = []
    expected = {name: time_us for name, time_us in times.items() if name != OTHERS}
    with ChildPool(READER) as readers:
        while new := [name for name in _most(expected, coverage) if name not in read]:
            tunable = [name for name in new if name in dispatches and dispatches[name].text]
            found = read_dispatches(readers, [files[name] for name in tunable], target)
            read |= {name: _reason(dispatches.get(name)) for name in new}
            for name, alone in zip(tunable, found, strict=True):
                known = _tunable(alone, files[name], target)
                read[name] = _as_in_model(known, dispatches[name])
            hot = [
                _hot(members, files, total, peak if _have_one_size(members, dispatches) else None)
                for members in _groups(profile, read)
            ]
            for one in hot:
                left = 1 - one.expected_us / one.time_us
                expected |= {name: left * times[name] for name in one.members}
    hot.sort(key=lambda one: -one.headroom_us)
    merged = {name for one in hot for name in one.members}
    beyond = f"beyond the first {coverage:.0%} of the time"
    rest = [
        SkippedDispatch(name, time_us / total, str(read.get(name, beyond)))
        for name, time_us in sorted(times.items(), key=lambda item: -item[1])
        if name not in merged
    ]
    return Plan(tuple(hot), tuple(rest))


def _most(times: Mapping[str, float], share: float) -> list[str]:
    """The fewest dispatches that make up a share of the time."""
    times = {name: time_us for name, time_us in times.items() if time_us > 0}
    total, reached, found = sum(times.values()), 0.0, []
    for name, time_us in sorted(times.items(), key=lambda item: -item[1]):
        if reached >= share * total:
            break
        reached += time_us
        found.append(name)
    return found


def _as_in_model(alone: Dispatch | str, dispatch: NetworkDispatch) -> Dispatch | str:
    """What was read of a dispatch by itself, with the loops that are dynamic in the model."""
    if isinstance(alone, str) or not dispatch.dynamic:
        return alone
    root = dispatch.problem
    problem = alone.problem.with_dynamic(root.dynamic if root else ())
    return replace(alone, problem=problem) if root and _match(root, problem) else ANOTHER


def _match(one: Problem, other: Problem) -> bool:
    """Whether a spec for one matches the other."""
    first, second = (
        (p.op, p.operands, [(d.name, d.matched_size) for d in p.dims]) for p in (one, other)
    )
    return first == second


def _groups(
    profile: Sequence[DispatchTime], read: Mapping[str, Dispatch | str]
) -> list[list[tuple[DispatchTime, Dispatch]]]:
    """Dispatches of equal Problems, those that take most time first."""
    groups: dict[object, list[tuple[DispatchTime, Dispatch]]] = {}
    for share in sorted(profile, key=lambda share: -share.time_us):
        dispatch = read.get(share.name)
        if isinstance(dispatch, Dispatch):
            groups.setdefault(_matched(dispatch), []).append((share, dispatch))
    for members in groups.values():
        # Tiles that compile where something is fused do where nothing is, and those for the longest
        # rows that are fused to a reduction do for shorter ones.
        members.sort(key=lambda one: _strictness(one[1].problem), reverse=True)
    return list(groups.values())


def _strictness(problem: Problem) -> tuple[bool, int]:
    """What orders problems that one matcher takes by how few tiles suit them."""
    return bool(problem.fused), dict(problem.traits).get("fused_row", 0)


def _matched(dispatch: Dispatch) -> object:
    """What a spec's matcher asks for: of some kinds, types and few properties more."""
    problem = dispatch.problem
    if kind_of(problem).matched_whole:
        return problem.label, dispatch.root
    if kind_of(problem).memory_bound:
        sizes = tuple((o.dtype, problem.matched_sizes(o)) for o in problem.operands)
        loops = tuple(dim.parallel for dim in problem.dims)
        return problem.op, sizes, problem.dynamic, loops, bool(problem.fused)
    return problem.label, dispatch.indexing_maps


def _reason(dispatch: NetworkDispatch | None) -> str:
    """Why a dispatch without MLIR of its own cannot be tuned."""
    return "it is not dispatched by a function" if dispatch is None else dispatch.reason


def _hot(
    members: Sequence[tuple[DispatchTime, Dispatch]],
    files: Mapping[str, Path],
    total: float,
    peak: Peak | None,
) -> HotDispatch:
    (first, dispatch), *_ = members
    time_us = sum(share.time_us for share, _ in members)
    problem = dispatch.problem
    least_us = 0.0
    if kind_of(problem).memory_bound:
        headroom_us = expected_us = STREAMED_HEADROOM * time_us
    else:
        if peak is not None:
            every = [(share.count, one.problem) for share, one in members]
            least_us = sum(n * peak.least_us(p.flops, p.bytes_touched) for n, p in every)
        # What seems to be faster than the peak was not measured well; it is still worth a try.
        some_us, best = LEAST_HEADROOM * time_us, reached(problem)
        headroom_us = max(time_us - least_us / best, some_us)
        usual_us = least_us / min(best, _usually_reached(problem))
        expected_us = max(time_us - usual_us, some_us) if least_us else UNKNOWN_GAIN * time_us
    file = files[first.name]
    return HotDispatch(
        file.stem,
        problem.label,
        tuple(share.name for share, _ in members),
        file,
        time_us,
        time_us / total,
        headroom_us,
        problem.dynamic,
        least_us,
        expected_us,
    )


def _have_one_size(
    members: Sequence[tuple[DispatchTime, Dispatch]], dispatches: Mapping[str, NetworkDispatch]
) -> bool:
    """Whether what was read of each is what the model always runs."""
    return all(dispatches[share.name].one_size for share, _ in members)


def reached(problem: Problem) -> float:
    """Of the measured peak, what the best candidates of a problem come to."""
    if problem.kind == "attention":
        return REACHED_BY_ATTENTION
    if problem.kind == "convolution":
        if dict(problem.traits).get("grouped") and not can_unroll(problem):
            return REACHED_BY_SCALARS
        pixels = math.prod(d.size for d in problem.by_role("m"))
        image, filters, *_ = (math.prod(problem.extents(o)) for o in problem.operands)
        if pixels <= SMALL_IMAGE and filters > image:
            return REACHED_WITH_SMALL_IMAGES
    return 1.0


def _usually_reached(problem: Problem) -> float:
    batched = problem.kind != "contraction" or problem.by_role("batch")
    return USUALLY_REACHED if batched else USUALLY_REACHED_BY_PRODUCTS


def _tunable(read: Dispatch | FrontrunnerError, file: Path, target: Target) -> Dispatch | str:
    """A dispatch, or why it cannot be tuned."""
    if isinstance(read, FrontrunnerError):
        return str(read).removeprefix("not tunable: ").replace(f"{file} ", "")
    try:
        if has_space(read):
            return read
    except NotTunableError as error:  # such as types that the target lacks
        return str(error)
    return f"nothing is known to tune of {read.problem.kind} like it on {target.name}"
