"""Tries candidates of many dispatches at once, where they run: in the model.

One compile of the model has a candidate for each dispatch, and one profile times all of them. For
a model of many small dispatches that is an order of magnitude cheaper than to tune each by itself,
and what is timed is what the model runs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from ...benchmarks.compiling import Compiler, raise_if_killed
from ...benchmarks.measuring import OK, PROFILE_SECONDS, CompileOutcome
from ...benchmarks.networks import NetworkFailed, NetworkRunner
from ...core import JsonLinesFile, KilledError, Notify, WorkError, decode
from ...search.linking import link_specs
from .plan import HotDispatch

# Variants between two profiles of the default, with which they are compared.
DEFAULT_EVERY = 3
# Faster than the default by so much, a candidate is worth another look.
LEAST_SPEEDUP = 1.03
# Every so many rounds, and after this share of the time, those that seemed to be faster are timed
# again, until they have been so often: a single profile is off by 10 % and more.
AGAIN_EVERY, NEW_SHARE, MOST_TIMED = 3, 0.75, 3
# Variants that are compiled side by side: the compiler uses little more than one core for a model.
# Of more than these, those that wait to be run would take longer than compiling.
MOST_AT_ONCE = 8
# Runs of the model in a profile.
MOST_RUNS = 50
_STEM = "in-model-"
_REMEDY = "make room, then go on where it stopped"


@dataclass(frozen=True)
class InModelOutcome:
    """What became of a candidate in the model.

    Attributes:
        candidate: its place in the queue of its dispatch, from 0.
        speedup: of the dispatch, all members together, over the default; None if it failed.
    """

    dispatch: str
    candidate: int
    speedup: float | None
    reason: str = ""

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


@dataclass(frozen=True)
class QueuedDispatch:
    """A dispatch and its candidates, in the order in which they are tried.

    Attributes:
        count: how many there are.
        spec: writes a candidate's tuning spec; gives its path.
    """

    hot: HotDispatch
    count: int
    spec: Callable[[int], Path]


class CandidateLog:
    """What is known of a dispatch's candidates: one may have been timed several times.

    Args:
        count: how many candidates there are.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._speedups: dict[int, list[float]] = {}

    @property
    def candidates(self) -> int:
        return len(self._speedups)

    def add(self, outcome: InModelOutcome) -> None:
        speedups = self._speedups.setdefault(outcome.candidate, [])
        if outcome.speedup is not None:
            speedups.append(outcome.speedup)

    def best(self) -> list[int]:
        """Candidates that seem to be faster than the default, the best first.

        The best of many that were timed once are those that were lucky, so they come last.
        """
        faster = [at for at in self._speedups if self._speedup(at) > LEAST_SPEEDUP]
        once = {at: len(self._speedups[at]) == 1 for at in faster}
        return sorted(faster, key=lambda at: (once[at], -self._speedup(at)))

    def choose(self, count: int, *, again: bool) -> list[int]:
        """The candidates to time next, each another one; fewer where there are no more.

        Args:
            again: whether those that were timed before, and are worth it, come before new ones.
        """
        faster = [at for at in self._speedups if self._speedup(at) > LEAST_SPEEDUP]
        few = [at for at in faster if len(self._speedups[at]) < MOST_TIMED]
        few.sort(key=self._speedup, reverse=True)
        new = range(len(self._speedups), self._count)
        return [*few, *new][:count] if again else [*new[:count], *few][:count]

    def _speedup(self, at: int) -> float:
        return float(np.median(self._speedups[at])) if self._speedups[at] else 0.0


@dataclass(frozen=True)
class InModelResult:
    """What a search in the model came to, for one dispatch.

    Attributes:
        best: candidates that seemed to be faster than the default, the best first.
        candidates: how many were tried.
        seconds: its part of the time that the search took.
    """

    best: tuple[int, ...]
    candidates: int
    seconds: float


@dataclass
class InModelSearch:
    """Compiles a model with a candidate of each dispatch, and profiles it; again and again.

    Attributes:
        default: the model without a spec of ours.
        starter: specs that the user brought.
        expected: computes what the model is to compute.
        log: where outcomes are kept; those that it holds are not done again.
    """

    compiler: Compiler
    runner: NetworkRunner
    starter: tuple[Path, ...]
    default: Path
    expected: Path
    log: Path
    notify: Notify
    _default_us: Mapping[str, float] = field(default_factory=dict)
    _runs: int = 1
    _profiled: int = 0
    _numbers: Iterator[int] = field(default_factory=count)

    def search(
        self, dispatches: Sequence[QueuedDispatch], deadline: float, tried: int
    ) -> dict[str, InModelResult]:
        """Tries candidates until the time is up, or there are no more.

        Args:
            deadline: as `time.monotonic` has it.
            tried: the most candidates of a dispatch to take for best.

        Raises:
            KilledError: the compiler or the model was killed, which is no candidate's fault.
            WorkError: the default cannot be profiled, or the log cannot be written.
        """
        known = {one.hot.name: one for one in dispatches}

        def check(record: dict[str, Any]) -> None:
            if InModelOutcome.from_record(record).dispatch not in known:
                raise ValueError(f"{record['dispatch']!r:.80} is no dispatch that is tuned")

        started = time.monotonic()
        end_of_new = started + NEW_SHARE * (deadline - started)
        with closing(JsonLinesFile(self.log, _REMEDY, check=check)) as lines:
            logs = {name: CandidateLog(one.count) for name, one in known.items()}
            for record in lines.records:
                outcome = InModelOutcome.from_record(record)
                logs[outcome.dispatch].add(outcome)
            rounds, at_once = 0, min(self.compiler.jobs, MOST_AT_ONCE)
            while time.monotonic() < deadline:
                again = rounds % AGAIN_EVERY == AGAIN_EVERY - 1 or time.monotonic() > end_of_new
                rounds += 1
                coming = {name: log.choose(at_once, again=again) for name, log in logs.items()}
                variants = [
                    {name: places[nth] for name, places in coming.items() if nth < len(places)}
                    for nth in range(max(map(len, coming.values())))
                ]
                if not variants:
                    break
                specs = [{known[n].hot: known[n].spec(at) for n, at in v.items()} for v in variants]
                for old in self.compiler.folder.glob(f"{_STEM}*"):
                    old.unlink()
                compiled = self._compile(specs)
                for variant, spec, one in zip(variants, specs, compiled, strict=True):
                    found = self._try(spec, one)
                    for name, at in variant.items():
                        outcome = InModelOutcome(name, at, *found[name])
                        logs[name].add(outcome)
                        lines.append(asdict(outcome))
                self._tell(logs, deadline)
        seconds = (time.monotonic() - started) / max(1, len(known))
        return {
            name: InModelResult(tuple(log.best()[:tried]), log.candidates, seconds)
            for name, log in logs.items()
        }

    def _compile(self, variants: Sequence[Mapping[HotDispatch, Path]]) -> list[CompileOutcome]:
        """The model with the specs of each variant, compiled side by side."""
        texts = [link_specs([*self.starter, *specs.values()]).text for specs in variants]
        # Names of their own: what ran before is loaded by its path.
        named = [(f"{_STEM}{next(self._numbers)}", text) for text in texts]
        compiled = self.compiler.compile(named)
        return [raise_if_killed(one, "a variant of the model") for one in compiled]

    def _try(
        self, specs: Mapping[HotDispatch, Path], compiled: CompileOutcome
    ) -> dict[str, tuple[float | None, str]]:
        """Speedup of each dispatch with its spec, or why there is none.

        Args:
            compiled: the model with all of them.
        """
        if self._profiled % DEFAULT_EVERY == 0:
            self._default_us = self._profile(self.default)
        self._profiled += 1
        found: dict[str, tuple[float | None, str]] = {}
        executable, applied = self._build(specs, found, compiled)
        good = {hot for hot in specs if hot.name not in found}
        times = self._profile(executable) if executable is not None else {}
        for hot in good:
            members = [m for m in hot.members if m in times and m in self._default_us]
            before = sum(self._default_us[m] for m in members)
            after = sum(times[m] for m in members)
            if not {*hot.members} & {*applied}:
                found[hot.name] = None, "its spec does not match it in the model"
            elif min(before, after) > 0:
                found[hot.name] = before / after, ""
            else:
                found[hot.name] = None, "it has no time in the model's profile"
        return found

    def _build(
        self,
        specs: Mapping[HotDispatch, Path],
        failed: dict[str, tuple[float | None, str]],
        compiled: CompileOutcome | None = None,
    ) -> tuple[Path | None, tuple[str, ...]]:
        """The model with the specs that work; the others are found by bisection, and told.

        Args:
            compiled: the model with all of them, if it is compiled already.
        """
        try:
            return self._check(compiled or self._compile([specs])[0])
        except NetworkFailed as failure:
            if len(specs) == 1:
                (hot,) = specs
                failed[hot.name] = None, str(failure)
                return None, ()
        items = list(specs.items())
        halves = (dict(items[: len(items) // 2]), dict(items[len(items) // 2 :]))
        built = [self._build(half, failed) for half in halves]
        left = {hot: spec for hot, spec in items if hot.name not in failed}
        if not left:
            return None, ()
        for half, done in zip(halves, built, strict=True):
            if left.keys() == half.keys():
                return done
        try:
            return self._check(self._compile([left])[0])
        except NetworkFailed as failure:
            # Each half works, but not both together.
            failed |= {hot.name: (None, f"with others, {failure}") for hot in left}
            return None, ()

    def _check(self, compiled: CompileOutcome) -> tuple[Path, tuple[str, ...]]:
        """
        Raises:
            NetworkFailed: the model does not compile or run so, or computes something else.
        """
        if compiled.kind != OK:
            raise NetworkFailed(compiled.reason)
        self.runner.compare_outputs(compiled.executable, self.expected)
        return compiled.executable, compiled.applied

    def _profile(self, executable: Path) -> dict[str, float]:
        """Times by dispatch; none if the model does not run."""
        try:
            shares = self.runner.profile(executable, self._runs)
        except WorkError as error:
            if executable == self.default or isinstance(error, KilledError):
                raise
            self.notify(f"a variant of the model does not run: {error}")
            return {}
        total = sum(share.time_us for share in shares)
        self._runs = max(1, min(MOST_RUNS, round(PROFILE_SECONDS * 1e6 / max(1.0, total))))
        return {share.name: share.time_us for share in shares}

    def _tell(self, logs: Mapping[str, CandidateLog], deadline: float) -> None:
        left = max(0, round(deadline - time.monotonic()))
        self.notify(
            f"[{sum(log.candidates for log in logs.values())} candidates in the model] "
            f"{sum(bool(log.best()) for log in logs.values())} of {len(logs)} dispatches are "
            f"faster; {left // 60}:{left % 60:02d} left"
        )
