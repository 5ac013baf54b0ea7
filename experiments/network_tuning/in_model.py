"""Tries candidates of many dispatches at once, where they run: in the model.

Candidates are compiled by themselves, one of each dispatch is put in the model, and one profile
times all of them. For a model of many small dispatches that is an order of magnitude cheaper than
to tune each by itself, and what is timed is what the model runs.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ...benchmarks.compiling import CannotSplit, ModelAssembler
from ...benchmarks.measuring import NOT_APPLIED, OK, TIMEOUT, CompileOutcome
from ...benchmarks.networks import NetworkFailed, NetworkRunner, profile_runs
from ...core import InputError, JsonLinesFile, Notify, ResumableError, WorkError
from ...search import CannotRender, TuningSpec
from .bisection import WITH_OTHERS, Specs, check_compiled, find_working
from .planning import MAKE_ROOM, HotDispatch
from .queued import CandidateLog, InModelOutcome, QueuedDispatch, read_logs

# Variants between two profiles of the default, and of how many of these the least times are what
# variants are compared with. Of seven models that were compared with themselves in a busy minute,
# one time in fifty was faster by 5 % than it should be; with the last profile alone, by 24 %, and
# with a correction by what the dispatches without candidates take, by 12 %.
DEFAULT_EVERY, DEFAULTS_KEPT = 3, 3
# Every so many rounds, and after this share of the time, those that seemed to be faster come first.
AGAIN_EVERY, NEW_SHARE = 3, 0.75
# Variants of which candidates are compiled side by side, at least and at most: where one compiles
# for long, the others go on.
LEAST_AT_ONCE, MOST_AT_ONCE = 2, 8
# Seconds after which compiling a candidate is given up; most take 0.3. Unrolled windows of 7x7 take
# 10: with them, a model that compiles in 4 s took 28, and each dispatch was tried eight times in
# three minutes.
PART_TIMEOUT = 5.0
# A dispatch sits out where compiling its candidates took so many times what its share of the time
# would be.
MOST_OF_SHARE = 2.0

NO_MATCH = "its spec does not match it in the model"
NO_PART = "its executable cannot be exchanged in the model"
# Another candidate may be the reason.
UNDECIDED = "the model fails with it and others"

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
    """Puts a candidate of each dispatch in a model, and profiles it; again and again.

    Attributes:
        assembler: of the model.
        starter: the text of specs that the user brought.
        expected: computes what the model is to compute.
        log: where outcomes are kept; those that it holds are not done again.
    """

    assembler: ModelAssembler
    runner: NetworkRunner
    starter: str | None
    expected: Path
    log: Path
    notify: Notify
    _default: Path | None = None
    _members: dict[str, str] = field(default_factory=dict)
    _defaults: deque[Mapping[str, float]] = field(
        default_factory=lambda: deque(maxlen=DEFAULTS_KEPT)
    )
    _runs: float = 1.0
    _profiled: int = 0
    _parts: dict[tuple[str, int], CompileOutcome] = field(default_factory=dict)
    _spent: dict[str, float] = field(default_factory=dict)
    _doubted: set[tuple[str, int]] = field(default_factory=set)
    _verified: set[Path] = field(default_factory=set)

    def search(
        self, dispatches: Sequence[QueuedDispatch], deadline: float, tried: int
    ) -> dict[str, InModelResult | str]:
        """Tries candidates until the time is up, or there are no more.

        Args:
            deadline: as `time.monotonic` has it.
            tried: the most candidates of a dispatch to take for best.

        Returns:
            By dispatch, what came of it, or why nothing could be tried.

        Raises:
            KilledError: the compiler or the model was killed, which is no candidate's fault.
            WorkError: the model cannot be profiled, or the log cannot be written.
        """
        without_part: dict[str, str] = {}
        known = {one.hot.name: one for one in dispatches}
        started = time.monotonic()
        end_of_new = started + NEW_SHARE * (deadline - started)
        with closing(
            JsonLinesFile(
                self.log,
                MAKE_ROOM,
                check=InModelOutcome.from_record,
                edited_hint=f"remove {self.log}: its candidates are tried again",
            )
        ) as lines:
            logs = read_logs(map(InModelOutcome.from_record, lines.records), known, self.notify)
            going, rounds = dict(logs), 0
            while time.monotonic() < deadline:
                again = rounds % AGAIN_EVERY == AGAIN_EVERY - 1 or time.monotonic() > end_of_new
                coming = self._choose(going, known, again=again)
                if not any(coming.values()):
                    break
                if self._default is None:
                    without_part = self._split(known)
                    going = {name: log for name, log in logs.items() if name in self._members}
                    continue
                rounds += 1
                variants = [
                    {name: places[nth] for name, places in coming.items() if nth < len(places)}
                    for nth in range(max(map(len, coming.values())))
                ]
                for name, at, speedup, reason in self._try_all(variants, known, deadline):
                    if reason.startswith((UNDECIDED, WITH_OTHERS)):
                        timed = logs[name].is_timed(at)
                        if not timed and time.monotonic() > deadline:
                            continue  # there was no time to tell; another session tries it
                        if timed and (name, at) not in self._doubted:
                            self._doubted.add((name, at))  # once, it still counts as it was timed
                            continue
                    outcome = InModelOutcome(name, at, speedup, reason, known[name].digest)
                    logs[name].add(outcome)
                    lines.append(asdict(outcome))
                    if at not in logs[name].worth_again() and (name, at) in self._parts:
                        self.assembler.remove(self._parts.pop((name, at)))
                self._tell(logs, deadline)
        seconds = (time.monotonic() - started) / max(1, len(known))
        found = {
            name: InModelResult(tuple(log.best()[:tried]), log.candidates, seconds)
            for name, log in logs.items()
        }
        # What an earlier session found can be tried in the whole model all the same.
        lost = {name: why for name, why in without_part.items() if not found[name].candidates}
        return found | lost

    def _choose(
        self, logs: Mapping[str, CandidateLog], known: Mapping[str, QueuedDispatch], *, again: bool
    ) -> dict[str, list[int]]:
        """Candidates to try next, of each dispatch; none where there are no more."""
        at_once = min(max(self.assembler.jobs, LEAST_AT_ONCE), MOST_AT_ONCE)
        due = self._due([known[name].hot for name in logs])
        coming = {n: log.choose(at_once, again=again, new=n in due) for n, log in logs.items()}
        if any(coming.values()) or len(due) == len(logs):
            return coming
        self._spent.clear()  # those that sit out are what is left
        return self._choose(logs, known, again=again)

    def _due(self, dispatches: Sequence[HotDispatch]) -> set[str]:
        """Those that may compile more, each for its share of the time."""
        spent = sum(self._spent.get(hot.name, 0.0) for hot in dispatches)
        fair = spent / (sum(hot.weight for hot in dispatches) or 1.0)
        return {
            hot.name
            for hot in dispatches
            if self._spent.get(hot.name, 0.0) <= MOST_OF_SHARE * hot.weight * fair
        }

    def _split(self, known: Mapping[str, QueuedDispatch]) -> dict[str, str]:
        """Compiles the model in parts; returns of which dispatches there is none, and why.

        Candidates are tried in the member that takes longest, of those that are parts. Others are
        of the same problem; what is best has to prove itself in all of them later.
        """
        try:
            default = self.assembler.split(self.starter)
            self._check(default, sets=None)
        except (CannotSplit, NetworkFailed) as error:
            self.notify(f"no candidate is tried in the model: {error}")
            return dict.fromkeys(known, str(error))
        self._default = default.executable
        for name, one in known.items():
            parts = (member for member in one.hot.members if member in self.assembler.functions)
            if member := next(parts, None):
                self._members[name] = member
        return {name: NO_PART for name in known if name not in self._members}

    def _try_all(
        self,
        variants: Sequence[Mapping[str, int]],
        known: Mapping[str, QueuedDispatch],
        deadline: float,
    ) -> Iterator[tuple[str, int, float | None, str]]:
        """What becomes of variants' candidates: dispatch, place, speedup, and why there is none."""
        failed = self._compile([(known[n], at) for one in variants for n, at in one.items()])
        # Also where there is no time for the model any more: it is not done again.
        yield from ((name, at, None, reason) for (name, at), reason in failed.items())
        working = [
            {
                known[n].hot: self._parts[n, at].executable
                for n, at in variant.items()
                if (n, at) in self._parts
            }
            for variant in variants
        ]
        compiled = iter(self._assemble([several for several in working if several]))
        for place, (variant, several) in enumerate(zip(variants, working, strict=True)):
            if place and time.monotonic() > deadline:
                return
            found = self._try(several, next(compiled), deadline) if several else {}
            for name, at in variant.items():
                if (name, at) not in failed:
                    yield name, at, *found.get(name, (None, UNDECIDED))

    def _compile(
        self, candidates: Sequence[tuple[QueuedDispatch, int]]
    ) -> dict[tuple[str, int], str]:
        """Compiles candidates; gives the reasons of those that do not compile, or not soon."""
        failed: dict[tuple[str, int], str] = {}
        specs: dict[tuple[str, int], TuningSpec] = {}
        for one, at in candidates:
            key = one.hot.name, at
            try:
                if key not in self._parts:
                    specs[key] = one.spec(at)
            except (CannotRender, InputError) as error:
                failed[key] = str(error)
        parts = [(self._members[name], spec) for (name, _), spec in specs.items()]
        for key, part in zip(specs, self.assembler.compile_parts(parts), strict=True):
            seconds = PART_TIMEOUT if part.kind == TIMEOUT else part.seconds
            self._spent[key[0]] = self._spent.get(key[0], 0.0) + seconds
            if part.kind == OK:
                self._parts[key] = part
            else:
                self.assembler.remove(part)
                failed[key] = NO_MATCH if part.kind == NOT_APPLIED else part.reason
        return failed

    def _assemble(self, variants: Sequence[Specs]) -> list[CompileOutcome]:
        """The model with the candidates of each variant."""
        return self.assembler.assemble([[*one.values()] for one in variants])

    def _try(self, specs: Specs, compiled: CompileOutcome, deadline: float) -> Found:
        """Speedup of each dispatch with its candidate, or why there is none, where that is known.

        Args:
            specs: executables, by dispatch.
            compiled: the model with all of them.
            deadline: as of `find_working`.
        """
        assert self._default is not None, "the model was split"
        if not self._profiled:
            self._times(self._default)  # tells how many runs to profile
        if self._profiled % DEFAULT_EVERY == 0:
            for _ in range(1 if self._defaults else DEFAULTS_KEPT):
                self._defaults.append(self._times(self._default))
        self._profiled += 1
        # What is timed again was compared when it was timed first; the whole is in the end.
        check = check_compiled if {*specs.values()} <= self._verified else self._check
        working = find_working(specs, compiled, self._assemble, check, deadline)
        self._verified |= {*working.specs.values()}
        found: Found = {
            hot.name: (None, reason)
            for hot, reason in working.failed.items()
            if hot not in working.undecided
        }
        if working.compiled is None:
            return found
        times = self._profile(working.compiled.executable)
        if not times and len(working.specs) > 1:
            self._verified -= {*working.specs.values()}  # next time it is found which of them fail
            return found
        for hot in working.specs:
            member = self._members[hot.name]
            before = min(default.get(member, 0.0) for default in self._defaults)
            after = times.get(member, 0.0)
            if min(before, after) > 0:
                found[hot.name] = before / after, ""
            else:
                found[hot.name] = None, "it has no time in the model's profile"
        return found

    def _check(self, compiled: CompileOutcome, sets: int | None = 1) -> None:
        """Checks outputs on few inputs: those of what is best are compared on all before it stays.

        Raises:
            NetworkFailed: the model does not compile or run so, or computes something else.
        """
        check_compiled(compiled)
        self.runner.compare_outputs(compiled.executable, self.expected, sets)

    def _profile(self, executable: Path) -> dict[str, float]:
        """Times by dispatch; none if the model does not run."""
        try:
            return self._times(executable)
        except ResumableError:
            raise
        except WorkError as error:
            self.notify(f"a variant of the model does not run: {error}")
            return {}

    def _times(self, executable: Path) -> dict[str, float]:
        shares = self.runner.profile(executable, self._runs)
        self._runs = profile_runs(sum(share.time_us for share in shares))
        return {share.name: share.time_us for share in shares}

    def _tell(self, logs: Mapping[str, CandidateLog], deadline: float) -> None:
        left = max(0, round(deadline - time.monotonic()))
        self.notify(
            f"[{sum(log.candidates for log in logs.values())} candidates in the model] "
            f"{sum(bool(log.best()) for log in logs.values())} of {len(logs)} dispatches are "
            f"faster; {left // 60}:{left % 60:02d} left"
        )
