"""Tries candidates of many dispatches at once, where they run: in the model.

One compile of the model has a candidate for each dispatch, and one profile times all of them. For
a model of many small dispatches that is an order of magnitude cheaper than to tune each by itself,
and what is timed is what the model runs.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path

from ...benchmarks.compiling import CompileJob, CompilePool, Compiler, raise_if_killed
from ...benchmarks.measuring import OK, CompileOutcome
from ...benchmarks.networks import NetworkRunner, profile_runs
from ...core import JsonLinesFile, Notify, ResumableError, WorkError
from ...search.linking import link_specs
from .bisection import Specs, check_compiled, find_working
from .folder import MAKE_ROOM
from .queued import CandidateLog, InModelOutcome, QueuedDispatch

# Variants between two profiles of the default, with which they are compared.
DEFAULT_EVERY = 3
# Every so many rounds, and after this share of the time, those that seemed to be faster come first.
AGAIN_EVERY, NEW_SHARE = 3, 0.75
# Variants that are compiled side by side: the compiler uses little more than one core for a model.
# Of more than these, those that wait to be run would take longer than compiling.
MOST_AT_ONCE = 8
# Seconds after which a candidate that is compiled by itself is left out.
CHECK_SECONDS = 5.0
_STEM = "in-model-"

Found = dict[str, tuple[float | None, str]]


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
        compiler: of the model.
        checker: compiles dispatches by themselves, and gives up soon.
        default: the model without a spec of ours.
        starter: specs that the user brought.
        expected: computes what the model is to compute.
        log: where outcomes are kept; those that it holds are not done again.
    """

    compiler: Compiler
    checker: CompilePool
    runner: NetworkRunner
    starter: tuple[Path, ...]
    default: Path
    expected: Path
    log: Path
    notify: Notify
    _default_us: Mapping[str, float] = field(default_factory=dict)
    _runs: float = 1.0
    _profiled: int = 0
    _numbers: Iterator[int] = field(default_factory=count)
    _suspects: set[str] = field(default_factory=set)

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
        started = time.monotonic()
        end_of_new = started + NEW_SHARE * (deadline - started)
        with closing(JsonLinesFile(self.log, MAKE_ROOM, check=InModelOutcome.from_record)) as lines:
            logs = self._read_logs(map(InModelOutcome.from_record, lines.records), known)
            rounds, at_once = 0, min(self.compiler.jobs, MOST_AT_ONCE)
            while time.monotonic() < deadline:
                again = rounds % AGAIN_EVERY == AGAIN_EVERY - 1 or time.monotonic() > end_of_new
                rounds += 1
                coming = {name: log.choose(at_once, again=again) for name, log in logs.items()}
                variants = [
                    {name: places[nth] for name, places in coming.items() if nth < len(places)}
                    for nth in range(max(map(len, coming.values()), default=0))
                ]
                if not variants:
                    break
                specs = [{known[n].hot: known[n].spec(at) for n, at in v.items()} for v in variants]
                suspects = [
                    (known[hot.name], path)
                    for several in specs
                    for hot, path in several.items()
                    if hot.name in self._suspects
                ]
                refused = self._refused_alone(suspects)
                specs = [
                    {h: p for h, p in several.items() if p not in refused} for several in specs
                ]
                for old in self.compiler.folder.glob(f"{_STEM}*"):
                    old.unlink()
                compiled = iter(self._compile([several for several in specs if several]))
                for variant, several in zip(variants, specs, strict=True):
                    found = self._try(several, next(compiled), known, deadline) if several else {}
                    for name, at in variant.items():
                        why = refused.get(known[name].spec(at), "")
                        speedup, reason = found.get(name, (None, why))
                        queue = known[name].digest
                        outcome = InModelOutcome(name, at, speedup, reason, queue)
                        logs[name].add(outcome)
                        lines.append(asdict(outcome))
                self._tell(logs, deadline)
        seconds = (time.monotonic() - started) / max(1, len(known))
        return {
            name: InModelResult(tuple(log.best()[:tried]), log.candidates, seconds)
            for name, log in logs.items()
        }

    def _read_logs(
        self, outcomes: Iterable[InModelOutcome], known: Mapping[str, QueuedDispatch]
    ) -> dict[str, CandidateLog]:
        """What is known of each dispatch's candidates, if these have the places that they had."""
        logs = {name: CandidateLog(one.count) for name, one in known.items()}
        left_out: set[str] = set()
        others: set[str] = set()
        for outcome in outcomes:
            if outcome.dispatch not in known:
                others.add(outcome.dispatch)
            elif outcome.queue in ("", known[outcome.dispatch].digest):
                logs[outcome.dispatch].add(outcome)
            else:
                left_out.add(outcome.dispatch)
        for name in sorted(left_out):
            self.notify(f"{name} has candidates in another order by now, and is tuned anew")
        for name in sorted(others):
            self.notify(f"{name} was tuned in the model, and is not any more")
        return logs

    def _compile(self, variants: Sequence[Specs]) -> list[CompileOutcome]:
        """The model with the specs of each variant, compiled side by side."""
        texts = [link_specs([*self.starter, *specs.values()]).text for specs in variants]
        # Names of their own: what ran before is loaded by its path.
        named = [(f"{_STEM}{next(self._numbers)}", text) for text in texts]
        compiled = self.compiler.compile(named)
        return [raise_if_killed(one, "a variant of the model") for one in compiled]

    def _refused_alone(self, candidates: Iterable[tuple[QueuedDispatch, Path]]) -> dict[Path, str]:
        """Candidates that do not compile by themselves, or not soon, with the reason.

        Their dispatches' later candidates are compiled so before they are put in the model: one
        that takes 10 s where others take 0.5 s had cost four minutes of compiling the model.
        """
        several = list(candidates)
        jobs = [
            CompileJob(f"{_STEM}{next(self._numbers)}", one.source, one.flags, path.read_text())
            for one, path in several
        ]
        refused = {}
        for (one, path), compiled in zip(several, self.checker.compile_jobs(jobs), strict=True):
            raise_if_killed(compiled, "a candidate")
            if compiled.kind != OK:
                refused[path] = compiled.reason
                self._suspects.add(one.hot.name)
        return refused

    def _try(
        self,
        specs: Specs,
        compiled: CompileOutcome,
        known: Mapping[str, QueuedDispatch],
        deadline: float,
    ) -> Found:
        """Speedup of each dispatch with its spec, or why there is none.

        Args:
            compiled: the model with all of them.
            deadline: as of `find_working`.
        """
        found: Found = {}
        if compiled.kind != OK:
            refused = self._refused_alone((known[hot.name], p) for hot, p in specs.items())
            found |= {h.name: (None, refused[p]) for h, p in specs.items() if p in refused}
            specs = {hot: path for hot, path in specs.items() if path not in refused}
            if refused and specs:
                (compiled,) = self._compile([specs])
        if not specs:
            return found
        if not self._profiled:
            self._profile(self.default)  # tells how many runs to profile: the first one is slower
        if self._profiled % DEFAULT_EVERY == 0:
            self._default_us = self._profile(self.default)
        self._profiled += 1
        working = find_working(specs, compiled, self._compile, self._check, deadline)
        found |= {hot.name: (None, reason) for hot, reason in working.failed.items()}
        if working.compiled is None:
            return found
        times = self._profile(working.compiled.executable)
        applied = working.compiled.applied
        for hot in working.specs:
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

    def _check(self, compiled: CompileOutcome) -> None:
        """
        Raises:
            NetworkFailed: the model does not compile or run so, or computes something else.
        """
        check_compiled(compiled)
        self.runner.compare_outputs(compiled.executable, self.expected)

    def _profile(self, executable: Path) -> dict[str, float]:
        """Times by dispatch; none if the model does not run."""
        try:
            shares = self.runner.profile(executable, self._runs)
        except WorkError as error:
            if executable == self.default or isinstance(error, ResumableError):
                raise
            self.notify(f"a variant of the model does not run: {error}")
            return {}
        self._runs = profile_runs(sum(share.time_us for share in shares))
        return {share.name: share.time_us for share in shares}

    def _tell(self, logs: Mapping[str, CandidateLog], deadline: float) -> None:
        left = max(0, round(deadline - time.monotonic()))
        self.notify(
            f"[{sum(log.candidates for log in logs.values())} candidates in the model] "
            f"{sum(bool(log.best()) for log in logs.values())} of {len(logs)} dispatches are "
            f"faster; {left // 60}:{left % 60:02d} left"
        )
