"""Dispatches that are tuned in the model, their candidates in order, and what came of these."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from ...benchmarks.measuring import CRASHED, OK, CandidateOrder, Outcome, QueueOrder
from ...core import (
    ChildPool,
    FrontrunnerError,
    Notify,
    ResumableError,
    decode,
    read_whole_lines,
)
from ...models import AdaptiveRanker, resolve_ranker
from ...search import Dispatch, Target, TuningSpec, spec_of
from ...search.reading import READER, read_dispatches
from ..queue import AdaptiveOrder, make_queue, renderer
from .planning import HotDispatch, NetworkOptions, Plan

# A dispatch for which there is less time is tuned in the model, with all others of the kind: by
# itself, reading, ranking, heats and finals take 20 s beside 0.5 s and more for each candidate.
ALONE_SECONDS = 60.0
# Of a dispatch that is tuned in the model, some dozens are tried; to rank these many takes 1 s.
POOL = 20_000
# Faster than the default by so much, a candidate is worth another look: it was timed once, and of
# the default the least of several profiles counts.
LEAST_SPEEDUP = 1.0
# How often a candidate is timed that seems to be faster: in a busy minute, a single profile tells
# times that are 10 % and more too long.
MOST_TIMED = 3
# As fast as so much of the best, it may be the best one, timed once and timed again. When all that
# was faster than the default was timed three times, 42 % of 6,326 timings were repeats (ten models,
# six minutes each), most of them of candidates that had half the speed of the best.
RIVAL_ONCE, RIVAL_AGAIN = 0.8, 0.9


@dataclass(frozen=True)
class InModelOutcome:
    """What became of a candidate in the model.

    Attributes:
        candidate: its place in the queue of its dispatch, from 0.
        speedup: of one member, over the default; None if it failed.
        queue: the digest of that queue; empty in logs of older versions.
    """

    dispatch: str
    candidate: int
    speedup: float | None
    reason: str = ""
    queue: str = ""

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> InModelOutcome:
        """
        Raises:
            ValueError: it is of something else.
        """
        found = decode(cls, dict(record))
        if found.candidate < 0 or not (found.speedup is None or 0 < found.speedup < math.inf):
            raise ValueError(f"a candidate's place or speedup is out of range: {found}")
        return found


def read_tried(path: Path) -> list[InModelOutcome]:
    """What is logged of candidates in the model, which may be written to meanwhile.

    Raises:
        InputError: it is something else.
    """
    found: list[InModelOutcome] = []
    if path.exists():
        read_whole_lines(path, lambda record: found.append(InModelOutcome.from_record(record)))
    last = {one.dispatch: one.queue for one in found}
    return [one for one in found if one.queue in ("", last[one.dispatch])]


@dataclass(frozen=True)
class QueuedDispatch:
    """A dispatch and its candidates.

    Attributes:
        count: how many there are.
        order: in which they are tried.
        digest: of all of them as they are queued, and of the compiler's flags.
        spec: gives a candidate's tuning spec. Of one that cannot be rendered it raises CannotRender
            or InputError.
    """

    hot: HotDispatch
    count: int
    order: CandidateOrder
    digest: str
    spec: Callable[[int], TuningSpec]


class CandidateLog:
    """What is known of a dispatch's candidates: one may have been timed several times.

    Args:
        order: in which new ones are tried.
    """

    def __init__(self, order: CandidateOrder) -> None:
        self._order = order
        self._speedups: dict[int, list[float]] = {}
        self._failed: set[int] = set()

    @property
    def candidates(self) -> int:
        return len(self._speedups)

    def is_timed(self, at: int) -> bool:
        return bool(self._speedups.get(at))

    def add(self, outcome: InModelOutcome) -> None:
        speedups = self._speedups.setdefault(outcome.candidate, [])
        if outcome.speedup is None:
            self._failed.add(outcome.candidate)
        else:
            speedups.append(outcome.speedup)

    def best(self) -> list[int]:
        """Candidates that seem to be faster than the default, the best first.

        The best of many that were timed once are those that were lucky, so they come last.
        """
        faster = self._faster()
        once = {at: len(self._speedups[at]) == 1 for at in faster}
        return sorted(faster, key=lambda at: (once[at], -self._speedup(at)))

    def choose(self, count: int, *, again: bool, new: bool = True) -> list[int]:
        """The candidates to time next, each another one; fewer where there are no more.

        Args:
            again: whether those that were timed before, and are worth it, come before new ones.
            new: whether there are to be new ones.
        """
        few = self.worth_again()
        left = count - len(few) if again else count
        others = self._order.next(self._outcomes(), left) if new and left > 0 else []
        return [*few, *others][:count] if again else [*others, *few][:count]

    def worth_again(self) -> list[int]:
        """Candidates that may be the best one and were not timed often, the best first."""
        faster = sorted(self._faster(), key=self._speedup, reverse=True)
        most = self._speedup(faster[0]) if faster else 0.0

        def is_rival(at: int) -> bool:
            timed = len(self._speedups[at])
            least = RIVAL_ONCE if timed == 1 else RIVAL_AGAIN
            return timed < MOST_TIMED and self._speedup(at) >= least * most

        return [at for at in faster if is_rival(at)]

    def _outcomes(self) -> dict[int, Outcome]:
        speedups = {at: self._speedup(at) for at in self._speedups}
        return {
            at: Outcome(OK, time_us=1 / speedup, baseline_us=1.0) if speedup else Outcome(CRASHED)
            for at, speedup in speedups.items()
        }

    def _faster(self) -> list[int]:
        return [at for at in self._speedups if self._speedup(at) > LEAST_SPEEDUP]

    def _speedup(self, at: int) -> float:
        """The best, as others only slow it down; 0 of one that failed, also after it was timed."""
        return 0.0 if at in self._failed else max(self._speedups[at])


def read_logs(
    outcomes: Iterable[InModelOutcome], known: Mapping[str, QueuedDispatch], notify: Notify
) -> dict[str, CandidateLog]:
    """What is known of each dispatch's candidates, if these have the places that they had."""
    logs = {name: CandidateLog(one.order) for name, one in known.items()}
    left_out: set[str] = set()
    others: set[str] = set()
    for outcome in outcomes:
        one = known.get(outcome.dispatch)
        if one is None:
            others.add(outcome.dispatch)
        elif outcome.queue in ("", one.digest) and outcome.candidate < one.count:
            logs[outcome.dispatch].add(outcome)
        else:
            left_out.add(outcome.dispatch)
    for name in sorted(one for one in left_out if not logs[one].candidates):
        notify(f"{name} has candidates in another order by now, and is tuned anew")
    for name in sorted(others):
        notify(f"{name} was tried in the model, and is not any more")
    return logs


def tuned_alone(
    plan: Plan, seconds: float, *, in_model: bool = True, done: Collection[HotDispatch] = ()
) -> tuple[HotDispatch, ...]:
    """The dispatches that are large enough to be tuned by themselves, and of one size.

    Args:
        seconds: for all of them, shared as `tune_hot_dispatches` does.
        in_model: whether others can be tuned in the model; if not, these are as many as there is
            time for, beside those that are done.
    """
    if not in_model:
        coming = [hot for hot in plan.hot if hot not in done]
        chosen = coming[: max(1, int(seconds / ALONE_SECONDS))]
        return tuple(hot for hot in plan.hot if hot in done or hot in chosen)
    total = sum(hot.weight for hot in plan.hot) or 1.0
    large = [hot for hot in plan.hot if seconds * hot.weight / total >= ALONE_SECONDS]
    # One that is left has nothing to share the model's profiles with.
    alone = plan.hot if len(plan.hot) - len(large) < 2 else large
    return tuple(h for h in alone if not h.dynamic)


def queue_dispatches(
    hot: Sequence[HotDispatch],
    target: Target,
    options: NetworkOptions,
    ranker: str,
    notify: Notify,
) -> tuple[list[QueuedDispatch], dict[str, str]]:
    """Reads dispatches, and ranks their candidates.

    Args:
        target: of the model, as the compiler read it.
        ranker: the name of what ranks them.

    Returns:
        Those that have candidates, and why others have none, by name.

    Raises:
        KilledError: a process was killed from outside.
    """
    queued: list[QueuedDispatch] = []
    failed: dict[str, str] = {}

    with ChildPool(READER, options.jobs) as readers:
        # While one is ranked, the next are read.
        files = [one.file for one in hot]
        for one, dispatch in zip(hot, read_dispatches(readers, files, target), strict=True):
            try:
                if isinstance(dispatch, FrontrunnerError):
                    raise dispatch
                problem = dispatch.problem.with_dynamic(one.dynamic)
                dispatch = replace(dispatch, problem=problem)
                queued.append(_queued(one, dispatch, options, ranker))
            except ResumableError:
                raise
            except FrontrunnerError as error:
                notify(f"{one.name} is left out: {error}")
                failed[one.name] = str(error)
    return queued, failed


def _queued(
    hot: HotDispatch, dispatch: Dispatch, options: NetworkOptions, name: str
) -> QueuedDispatch:
    ranker = resolve_ranker(name, seed=options.seed)
    queue = make_queue(dispatch, ranker, pool=min(POOL, options.pool), seed=options.seed)
    render = renderer(dispatch, queue)
    hashes = pd.util.hash_pandas_object(queue, index=False).to_numpy()
    # With other flags, the same candidates are other code.
    said = hashes.tobytes() + "\0".join(dispatch.target.flags).encode()
    digest = hashlib.sha256(said).hexdigest()[:16]

    def spec(at: int) -> TuningSpec:
        return spec_of(dispatch, render(at))

    order: CandidateOrder = QueueOrder(len(queue))
    if isinstance(ranker, AdaptiveRanker):
        order = AdaptiveOrder.for_queue(queue, dispatch, ranker, options.seed)
    return QueuedDispatch(hot, len(queue), order, digest, spec)
