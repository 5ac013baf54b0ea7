"""Chooses for each hot dispatch the configuration that makes the whole network faster, if any.

What is faster by itself may be slower in its place: its inputs are in other caches, its neighbours
want the same memory. So the best few of each dispatch are compiled into the model and compared by
the model's own profile; and what stays has to make the whole model faster.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ...benchmarks.compiling import Compiler, raise_if_killed
from ...benchmarks.measuring import (
    DROP_ROUNDS,
    OK,
    PROFILE_ROUNDS,
    PROFILE_SECONDS,
    RACE_PATIENCE,
    CompileOutcome,
)
from ...benchmarks.networks import NetworkFailed, NetworkRunner, Speedup
from ...core import KilledError, Notify, WorkError
from ...search.linking import link_specs
from .plan import HotDispatch

# Candidates of a dispatch that are tried in the model.
MAX_TRIED = 3


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
    """

    compiler: Compiler
    runner: NetworkRunner
    starter: tuple[Path, ...]
    default: CompileOutcome
    expected: Path
    folder: Path
    seed: int
    deadline: float
    notify: Notify

    def decide(self, specs: Sequence[tuple[HotDispatch, Sequence[Path]]]) -> TrialResult:
        """Finds the best candidate of each dispatch, and proves them together.

        Args:
            specs: of each dispatch's best candidates, the best one first.

        Raises:
            KilledError: the compiler or the model was killed, which is no candidate's fault.
        """
        choices = self._choose([(hot, tried[:MAX_TRIED]) for hot, tried in specs if tried])
        choices += [
            DispatchChoice(hot, reason="nothing beat the default")
            for hot, tried in specs
            if not tried
        ]
        compiled, number = None, 0
        while any(c.spec for c in choices):
            # Names of their own: the process that compares has loaded those before.
            compiled = self._compile(f"chosen-{number}", [c.spec for c in choices if c.spec])
            number += 1
            try:
                if compiled.kind != OK:
                    raise NetworkFailed(compiled.reason)
                self.notify("comparing the outputs of the tuned model with the default's")
                self.runner.compare_outputs(compiled.executable, self.expected)
                break
            except NetworkFailed as failure:
                choices = _without_the_least(choices, str(failure))
        if compiled is None or not any(c.spec for c in choices):
            return TrialResult(tuple(choices), None, None, ())
        choices, compiled = self._drop_what_slows(choices, compiled)
        self.notify("measuring the whole model")
        try:
            gain = self.runner.measure_speedup(
                self.default.executable, compiled.executable, self.seed, patience=RACE_PATIENCE
            )
        except NetworkFailed as failure:
            rejected = tuple(c.rejected(str(failure)) if c.spec else c for c in choices)
            return TrialResult(rejected, None, None, ())
        if not gain.beyond_noise:
            return TrialResult(tuple(choices), None, gain, ())
        text = compiled.executable.with_suffix(".mlir").read_text()
        return TrialResult(tuple(choices), text, gain, compiled.applied, compiled.executable)

    def _compile(self, name: str, specs: Sequence[Path]) -> CompileOutcome:
        linked = link_specs([*self.starter, *specs])
        (compiled,) = self.compiler.compile([(name, linked.text)])
        return raise_if_killed(compiled, "a variant of the model")

    def _choose(self, specs: Sequence[tuple[HotDispatch, Sequence[Path]]]) -> list[DispatchChoice]:
        """The candidate of each dispatch that is fastest in the model, if it beats the default.

        A variant of the model has the n-th best of every dispatch, so all are measured at once.
        """
        variants: list[CompileOutcome] = []
        for place in range(max((len(tried) for _, tried in specs), default=0)):
            self.notify(f"compiling the model with the candidates in place {place + 1}")
            one = self._compile(
                f"place-{place}", [tried[min(place, len(tried) - 1)] for _, tried in specs]
            )
            if one.kind != OK:
                self.notify(f"candidates in place {place + 1} are left out: {one.reason}")
            variants.append(one)
        compiled = [place for place, one in enumerate(variants) if one.kind == OK]
        times = self._profiles([self.default, *(variants[place] for place in compiled)])
        choices = []
        for hot, tried in specs:
            found = []
            matched = [{*hot.members} & {*variants[place].applied} for place in compiled]
            if compiled and not any(matched):
                choices.append(DispatchChoice(hot, reason="its specs do not match it in the model"))
                continue
            for at, place in enumerate(compiled, 1):
                if place < len(tried) and matched[at - 1] and all(row[at] for row in times):
                    ratios = np.array([_total(r[0], hot) / _total(r[at], hot) for r in times])
                    found.append((float(np.median(ratios)), _lower_bound(ratios), tried[place]))
            if not found:
                choices.append(DispatchChoice(hot, reason="its candidates fail in the model"))
                continue
            speedup, low, spec = max(found, key=lambda one: one[0])
            choice = DispatchChoice(hot, spec, speedup)
            choices.append(choice if low > 1 else choice.rejected("no faster in the model"))
        return choices

    def _profiles(self, variants: Sequence[CompileOutcome]) -> list[list[Mapping[str, float]]]:
        """For each round and variant, the time of each dispatch, in turns that change.

        A variant that fails to run is not run again, and has no times from there on.
        """
        rng = np.random.default_rng(self.seed)
        runs = 1
        failed: set[int] = set()
        found: list[list[Mapping[str, float]]] = []
        if len(variants) == 1:
            return found
        for number in range(PROFILE_ROUNDS):
            self.notify(f"profiling the model, round {number + 1} of {PROFILE_ROUNDS}")
            row: list[Mapping[str, float]] = [{}] * len(variants)
            for place in rng.permutation(len(variants)):
                if place in failed:
                    continue
                try:
                    shares = self.runner.profile(variants[place].executable, runs)
                except WorkError as error:
                    if place == 0 or isinstance(error, KilledError):
                        raise
                    self.notify(f"a variant of the model does not run: {error}")
                    failed.add(place)
                    continue
                row[place] = {share.name: share.time_us for share in shares}
            found.append(row)
            slowest = max(sum(times.values()) for times in row)
            runs = max(1, min(50, round(PROFILE_SECONDS * 1e6 / max(1.0, slowest))))
        return found

    def _drop_what_slows(
        self, choices: list[DispatchChoice], compiled: CompileOutcome
    ) -> tuple[list[DispatchChoice], CompileOutcome]:
        """Leaves out what the model is faster without, the least gains first."""
        kept = sorted((c for c in choices if c.spec), key=_saved)
        for choice in kept[:-1]:
            if time.monotonic() > self.deadline:
                self.notify("the time is up: not all dispatches were left out in turn")
                break
            left = [c.spec for c in choices if c.spec and c is not choice]
            self.notify(f"measuring the model without {choice.hot.name}")
            without = self._compile(f"without-{choice.hot.name}", left)
            if without.kind != OK:
                continue
            before, after = compiled.executable, without.executable
            try:
                gain = self.runner.measure_speedup(before, after, self.seed, DROP_ROUNDS)
                if not gain.beyond_noise:
                    continue
                self.runner.compare_outputs(after, self.expected)
            except NetworkFailed as failure:
                self.notify(f"{choice.hot.name} stays: without it, {failure}")
                continue
            compiled = without
            choices = [c.rejected("slows the model") if c is choice else c for c in choices]
        return choices, compiled


def _lower_bound(ratios: npt.NDArray[np.float64]) -> float:
    """What most of a candidate's speedups are above; the whole model decides in the end.

    Of seven rounds, six: without a gain that is so in one of 16 cases. The 95 % interval of the
    median asks for all seven, and on a busy machine one round in ten is twice as slow.
    """
    return float(np.quantile(ratios, 0.25, method="lower"))


def _total(times: Mapping[str, float], hot: HotDispatch) -> float:
    """The time of a dispatch's members."""
    return sum(times[m] for m in hot.members)


def _saved(choice: DispatchChoice) -> float:
    """What a choice saves of a run of the model."""
    return choice.hot.time_us * (1 - 1 / (choice.speedup or 1.0))


def _without_the_least(choices: Sequence[DispatchChoice], reason: str) -> list[DispatchChoice]:
    least = min((c for c in choices if c.spec), key=_saved)
    return [c.rejected(reason) if c is least else c for c in choices]
