"""Chooses for each hot dispatch the configuration that makes the whole network faster, if any.

What is faster by itself may be slower in its place: its inputs are in other caches, its neighbours
want the same memory. So the best few of each dispatch are compiled into the model and compared by
the model's own profile; and what stays has to make the whole model faster.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import numpy as np

from ...benchmarks.compiling import Compiler, raise_if_killed
from ...benchmarks.measuring import (
    DROP_ROUNDS,
    OK,
    PROFILE_ROUNDS,
    RACE_PATIENCE,
    CompileOutcome,
)
from ...benchmarks.networks import NetworkFailed, NetworkRunner, Speedup, profile_runs
from ...core import Notify, ResumableError, WorkError
from ...search.linking import link_specs
from .bisection import Specs, WorkingSpecs, check_compiled, find_working
from .planning import HotDispatch

# Candidates of a dispatch that are tried in the model.
MAX_TRIED = 3
# Seconds that are kept for timing the whole model beyond the usual rounds, which tell a ratio to
# 15 %. Of ten models, none was faster without one of its choices, so that this matters less where
# profiles tell what each brings.
KEPT_FOR_RACE = 20.0
# Rounds of profiles also where the time is up.
LEAST_ROUNDS = 4
# By as much a configuration has to be faster than the default, by the least times of all rounds. Of
# models compared with themselves, one dispatch in twenty was; by six ratios of seven being above 1,
# of the means of profiles, one in eight was in a busy minute.
LEAST_GAIN = 1.02
# As many times as long as the default compiles it is looked which candidate fails, also where the
# time is up: one of 64 is found in six steps, of two models each that are compiled side by side.
HALVINGS = 12


@dataclass(frozen=True)
class DispatchChoice:
    """What became of the best candidates of a dispatch.

    Attributes:
        spec: of the one that stays; None if none does.
        speedup: in the model, of the best of them over the default; None if none was tried.
        reason: why none stays; empty if one does.
    """

    hot: HotDispatch
    spec: Path | None = None
    speedup: float | None = None
    reason: str = ""

    def rejected(self, reason: str) -> DispatchChoice:
        return replace(self, spec=None, reason=reason)


@dataclass(frozen=True)
class TrialResult:
    """The model with what stays.

    Attributes:
        spec: of all choices, and the user's own; None if the default is no slower.
        gain: over the default; None if nothing was left to compare.
        applied: the dispatches that the spec configures.
        executable: the model with the spec.
    """

    choices: tuple[DispatchChoice, ...]
    spec: str | None
    gain: Speedup | None
    applied: tuple[str, ...]
    executable: Path | None = None


@dataclass(frozen=True)
class NetworkTrial:
    """A model in which specs are tried.

    Attributes:
        starter: specs that the user brought; ours come after them, so ours win.
        default: the model as the compiler, and the user's specs, configure it.
        expected: computes what the model is to compute.
        deadline: when nothing more is left out to see whether the model is faster without it, as
            `time.monotonic` has it.
        notify: told what is done.
        alone: how much faster each dispatch became by itself, where the runtime does not profile:
            the best of each is taken, and the whole model decides.
    """

    compiler: Compiler
    runner: NetworkRunner
    starter: tuple[Path, ...]
    default: CompileOutcome
    expected: Path
    seed: int
    deadline: float
    notify: Notify
    alone: Mapping[str, float] | None = None

    def decide(self, specs: Sequence[tuple[HotDispatch, Sequence[Path]]]) -> TrialResult:
        """Finds the best candidate of each dispatch, and proves them together.

        Args:
            specs: of each dispatch's best candidates, the best one first.

        Raises:
            KilledError: the compiler or the model was killed, which is no candidate's fault.
        """
        choices, made = self._choose([(hot, tried[:MAX_TRIED]) for hot, tried in specs if tried])
        choices += [
            DispatchChoice(hot, reason="nothing beat the default")
            for hot, tried in specs
            if not tried
        ]
        chosen = {c.hot: c.spec for c in choices if c.spec}
        working = WorkingSpecs({}, None, {})
        if chosen:
            # The best of each may all have been in one variant.
            same = [compiled for specs, compiled in made if specs == chosen]
            (working,) = self._working("chosen", [chosen], self._compare, made=same[:1])
        choices = [
            c.rejected(working.failed[c.hot]) if c.hot in working.failed else c for c in choices
        ]
        if working.compiled is None:
            return TrialResult(tuple(choices), None, None, ())
        choices, compiled = self._drop_what_slows(choices, working.compiled)
        self.notify("measuring the whole model")
        try:
            gain = self.runner.measure_speedup(
                self.default.executable,
                compiled.executable,
                self.seed,
                patience=race_patience(self.deadline),
            )
        except NetworkFailed as failure:
            rejected = tuple(c.rejected(str(failure)) if c.spec else c for c in choices)
            return TrialResult(rejected, None, None, ())
        if not gain.beyond_noise:
            return TrialResult(tuple(choices), None, gain, ())
        text = compiled.executable.with_suffix(".mlir").read_text()
        return TrialResult(tuple(choices), text, gain, compiled.applied, compiled.executable)

    def _compile(self, named: Mapping[str, Specs]) -> list[CompileOutcome]:
        # What comes last is tried first: a matcher of dynamic sizes takes static ones, too.
        linked = []
        for name, specs in named.items():
            paths = [specs[hot] for hot in sorted(specs, key=lambda hot: not hot.dynamic)]
            linked.append((name, link_specs([*self.starter, *paths]).text))
        return [
            raise_if_killed(one, "a variant of the model") for one in self.compiler.compile(linked)
        ]

    def _choose(
        self, specs: Sequence[tuple[HotDispatch, Sequence[Path]]]
    ) -> tuple[list[DispatchChoice], list[tuple[Specs, CompileOutcome]]]:
        """The candidate of each dispatch that is fastest in the model, if it beats the default.

        A variant of the model has the n-th best of every dispatch, so all are measured at once.

        Returns:
            Beside these, the variants, and what they were compiled with.
        """
        places = [
            # Where another one fails or dies, the last of a shorter list has more than one chance.
            {hot: tried[min(place, len(tried) - 1)] for hot, tried in specs}
            for place in range(max((len(tried) for _, tried in specs), default=0))
        ]
        if places:
            self.notify(f"compiling the model with the best {len(places)} of each dispatch")
        until = time.monotonic() + (len(places) + HALVINGS) * self.default.seconds
        tries = self._working("place", places, check_compiled, max(self.deadline, until))
        failed = {hot: reason for one in tries for hot, reason in one.failed.items()}
        for hot, reason in failed.items():
            self.notify(f"a candidate of {hot.name} is left out: {reason}")
        made = [(one.specs, one.compiled) for one in tries if one.compiled is not None]
        times = []
        if self.alone is None:
            times = self._profiles([self.default, *(compiled for _, compiled in made)])
        choices = []
        for hot, _ in specs:
            found: dict[Path, float] = {}
            matched = False
            for at, (working, compiled) in enumerate(made, start=1):
                spec = working.get(hot)
                if spec is None or not {*hot.members} & {*compiled.applied}:
                    continue
                matched = True
                if self.alone is not None:  # the best by itself that works
                    found = found or {spec: self.alone[hot.name]}
                    continue
                totals = [(_total(row[0], hot), _total(row[at], hot)) for row in times]
                if spec not in found and all(min(pair) > 0 for pair in totals):
                    # What runs beside them slows single rounds.
                    before, after = map(min, zip(*totals, strict=True))
                    found[spec] = before / after
            if not found:
                usual = "its candidates fail in the model"
                if made and not matched and hot not in failed:
                    usual = "its specs do not match it in the model"
                choices.append(DispatchChoice(hot, reason=failed.get(hot, usual)))
                continue
            best = max(found, key=found.__getitem__)
            choice = DispatchChoice(hot, best, found[best])
            faster = self.alone is not None or found[best] > LEAST_GAIN
            choices.append(choice if faster else choice.rejected("no faster in the model"))
        return choices, made

    def _working(
        self,
        stem: str,
        sets: Sequence[Specs],
        check: Callable[[CompileOutcome], None],
        deadline: float = math.inf,
        made: Sequence[CompileOutcome] = (),
    ) -> list[WorkingSpecs]:
        """Of each set of specs, those that work together in the model.

        Args:
            stem: of executables' names, each of which is used once: a process has loaded those
                before by their paths.
            deadline: as of `find_working`.
            made: what each set compiles to, if that is known.
        """
        numbers = count()

        def compile_each(several: Sequence[Specs]) -> list[CompileOutcome]:
            return self._compile({f"{stem}-{next(numbers)}": one for one in several})

        return [
            find_working(specs, compiled, compile_each, check, deadline)
            for specs, compiled in zip(sets, made or compile_each(sets), strict=True)
        ]

    def _compare(self, compiled: CompileOutcome) -> None:
        check_compiled(compiled)
        self.notify("comparing the outputs of the tuned model with the default's")
        self.runner.compare_outputs(compiled.executable, self.expected)

    def _profiles(self, variants: Sequence[CompileOutcome]) -> list[list[Mapping[str, float]]]:
        """For each round and variant, the time of each dispatch, in turns that change.

        A variant that fails to run is not run again, and has no times from there on.
        """
        rng = np.random.default_rng(self.seed)
        runs = 1.0
        failed: set[int] = set()
        found: list[list[Mapping[str, float]]] = []
        if len(variants) == 1:
            return found
        for number in range(PROFILE_ROUNDS):
            if number == LEAST_ROUNDS and time.monotonic() > self.deadline:
                break
            self.notify(f"profiling the model, round {number + 1} of {PROFILE_ROUNDS}")
            row: list[Mapping[str, float]] = [{}] * len(variants)
            for place in rng.permutation(len(variants)):
                if place in failed:
                    continue
                try:
                    shares = self.runner.profile(variants[place].executable, runs)
                except WorkError as error:
                    if place == 0 or isinstance(error, ResumableError):
                        raise
                    self.notify(f"a variant of the model does not run: {error}")
                    failed.add(place)
                    continue
                row[place] = {share.name: share.time_us for share in shares}
            found.append(row)
            slowest = max(sum(times.values()) for times in row)
            runs = profile_runs(slowest)
        return found

    def _drop_what_slows(
        self, choices: list[DispatchChoice], compiled: CompileOutcome
    ) -> tuple[list[DispatchChoice], CompileOutcome]:
        """Leaves out what the model is faster without, the least gains first."""
        kept = sorted((c for c in choices if c.spec), key=_saved)
        # What was chosen by profiles was faster in the model: the one that saves most stays.
        until = self.deadline - (KEPT_FOR_RACE if self.alone is None else 0.0)
        for choice in kept[:-1] if self.alone is None else kept:
            left = {c.hot: c.spec for c in choices if c.spec and c is not choice}
            if not left:
                break
            if time.monotonic() > until:
                self.notify("the time is up: not all dispatches were left out in turn")
                break
            self.notify(f"measuring the model without {choice.hot.name}")
            (without,) = self._compile({f"without-{choice.hot.name}": left})
            if without.kind != OK:
                continue
            before, after = compiled.executable, without.executable
            try:
                gain = self.runner.measure_speedup(before, after, self.seed, DROP_ROUNDS)
                if gain.beyond_noise:
                    self.runner.compare_outputs(after, self.expected)
                    compiled = without
                    choices = [c.rejected("slows the model") if c is choice else c for c in choices]
            except NetworkFailed as failure:
                self.notify(f"{choice.hot.name} stays: without it, {failure}")
            if compiled is not without:
                after.unlink(missing_ok=True)  # it may hold the model's weights
        return choices, compiled


def race_patience(deadline: float) -> float:
    """Seconds that the whole model may be timed beyond the usual rounds: what is left, at most."""
    return max(0.0, min(RACE_PATIENCE, deadline - time.monotonic()))


def _total(times: Mapping[str, float], hot: HotDispatch) -> float:
    """The time of a dispatch's members; 0 where the profile has not all of them."""
    return sum(times[m] for m in hot.members) if {*hot.members} <= {*times} else 0.0


def _saved(choice: DispatchChoice) -> float:
    """What a choice saves of a run of the model."""
    return choice.hot.time_us * (1 - 1 / (choice.speedup or 1.0))
