"""The finals: the best candidates are measured again, and the winner in rounds of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...core import Load, Notify
from .constants import (
    CONTENDER_ERRORS,
    MAX_CONTENDERS,
    MAX_FINALISTS,
    MAX_TRIED,
    NOISY,
    SCREEN_NOISE,
)
from .device import Device, RunFailed
from .outcome import OK, Outcome

if TYPE_CHECKING:
    from .runner import MeasuringRunner

# Added to the seed when the winner is verified, so that its inputs are not those of the search.
OTHER_INPUTS = 1_000_003
# An interval that leaves less of the gain may be of a machine that was disturbed.
CLEAR_SHARE = 0.25
# Of a finalist whose executable is another than the one that was measured.
CHANGED = "it does not compile as it did"


@dataclass(frozen=True)
class FinalistResult:
    """A finalist against the baseline.

    Attributes:
        speedup: median over the rounds of baseline time over own time, on the same device.
        interval: of the speedup, 95 %: see `median_interval`.
        time_us: median over the rounds.
        ratios: of each round, of which the speedup is the median; none in older files.
        baseline_us: median over the same rounds; None in older files, for the finals'.
    """

    index: int
    speedup: float
    interval: tuple[float, float]
    time_us: float
    ratios: tuple[float, ...] = ()
    baseline_us: float | None = None


@dataclass(frozen=True)
class Finals:
    """Finalists, the best of the heats first.

    Those that were tried as the winner have the figures of their own rounds, in which nothing
    chose them; the others those of the heats.

    Attributes:
        baseline_us: median over the rounds of the last that was tried, as are noise floor and load.
        noise_floor: how far the median ratio of the baseline against itself, measured in the same
            rounds in both orders, strays from 1 (95 %): no smaller difference means anything.
        failed: finalists that did not run this time, or are wrong, with the reason.
        load: of the machine after the rounds; None in older files.
        baseline: which of the compiler's two defaults it is, in words; empty where there is one.
    """

    standings: tuple[FinalistResult, ...]
    baseline_us: float
    noise_floor: float
    failed: tuple[tuple[int, str], ...] = ()
    load: Load | None = None
    baseline: str = ""

    def with_failed(self, failed: Sequence[tuple[int, str]]) -> Finals:
        """The same, without finalists that could not take part, or are wrong."""
        gone = {index for index, _ in failed}
        left = tuple(one for one in self.standings if one.index not in gone)
        return replace(self, standings=left, failed=(*self.failed, *failed))

    def with_own_rounds(self, own: Finals) -> Finals:
        """The same, where a finalist was measured in rounds of its own."""
        found = {standing.index: standing for standing in own.standings}
        gone = {index for index, _ in own.failed}
        standings = [found.get(s.index, s) for s in self.standings if s.index not in gone]
        return replace(own, standings=tuple(standings), failed=(*self.failed, *own.failed))


def noise_warning(noise_floor: float, load: Load | None) -> str:
    """What people are told of a machine too noisy for small differences; else empty."""
    if noise_floor <= NOISY:
        return ""
    busy = f" (load {load.average:.1f} on {load.cores} cores)" if load else ""
    return (
        f"noisy machine{busy}: the default differs from itself by {noise_floor:.1%}; "
        f"end other programs and tune again"
    )


def choose_finalists(outcomes: Mapping[int, Outcome]) -> list[int]:
    """Candidates that may be the best, of all devices, by queue position, the likeliest first.

    A few there are in any case, since the best may turn out to be wrong, but for those that are
    slower than the default: rounds with these may take minutes. Of identical ones, the one with the
    best time.
    """
    distinct = distinct_candidates(outcomes)
    # Two times are compared, each as noisy.
    doubt = CONTENDER_ERRORS * np.sqrt(2) * screening_noise(outcomes)
    chosen = [
        index
        for place, (index, relative) in enumerate(distinct)
        if relative <= np.exp(doubt) * (1.0 if place < MAX_FINALISTS else min(1.0, distinct[0][1]))
    ]
    return (chosen or [index for index, _ in distinct[:1]])[:MAX_CONTENDERS]


def distinct_candidates(outcomes: Mapping[int, Outcome]) -> list[tuple[int, float]]:
    """Candidates that ran, with their times as shares of the baseline's, the best first.

    Of identical ones, the one with the best time.
    """
    ranked = sorted(
        (outcome.relative, index)
        for index, outcome in outcomes.items()
        if outcome.kind == OK and outcome.same_as is None and outcome.relative is not None
    )
    best: dict[str, tuple[int, float]] = {}
    for relative, index in ranked:
        best.setdefault(outcomes[index].executable, (index, relative))
    return list(best.values())


def screening_noise(outcomes: Mapping[int, Outcome]) -> float:
    """By how much a candidate's time in units of the baseline's is off, as a standard deviation.

    A batch's baseline in units of that of the batch before is as far from 1.
    """
    steps = [np.zeros(0)]
    for device in {outcome.device for outcome in outcomes.values()}:
        times = [o.baseline_us for o in outcomes.values() if o.device == device and o.baseline_us]
        steps.append(np.diff(np.log(list(dict.fromkeys(times)))))
    squares = np.concatenate(steps) ** 2
    return max(SCREEN_NOISE, float(np.sqrt(squares.mean()))) if len(squares) else SCREEN_NOISE


def choose_winner(
    runner: MeasuringRunner,
    outcomes: Mapping[int, Outcome],
    spec: Callable[[FinalistResult, Finals], str],
    on_phase: Callable[[str], None],
    notify: Notify,
) -> tuple[Finals, FinalistResult | None]:
    """Measures the best again; the fastest that beats the baseline and is also right wins, if any.

    As `settle`, after heats of those that may be the best.

    Args:
        spec: the tuning spec of a finalist, as it will be written.
        on_phase: told what begins.
        notify: told which finalists failed, and that the machine is noisy.

    Raises:
        KilledError: the process of a finalist was killed from outside, twice.
    """
    contenders = choose_finalists(outcomes)
    on_phase(f"measuring {len(contenders)} candidates that may be the best")
    return settle(runner, runner.finals(contenders, outcomes), spec, on_phase, notify)


def settle(
    runner: MeasuringRunner,
    finals: Finals,
    spec: Callable[[FinalistResult, Finals], str],
    on_phase: Callable[[str], None],
    notify: Notify,
) -> tuple[Finals, FinalistResult | None]:
    """The first of the finalists that beats the baseline and is also right wins, if any.

    Args:
        finals: what is left, the best first; the other arguments are those of `choose_winner`.

    Raises:
        KilledError: the process of a finalist was killed from outside, twice.
    """
    winner = None
    # They are in the order of their fastest turns, and this is the median.
    faster = [one for one in finals.standings if one.speedup > 1]
    for finalist in faster[:MAX_TRIED]:
        finals, own = _measure_alone(runner, finalist.index, finals, on_phase)
        if own is None:
            continue
        on_phase("verifying the winner")
        wrong = _verification_error(runner, own.index, spec(own, finals))
        if not wrong:
            winner = own
            break
        finals = finals.with_failed([(own.index, wrong)])
    for index, reason in finals.failed:
        notify(f"finalist {index + 1} failed: {reason}")
    if warning := noise_warning(finals.noise_floor, finals.load):
        notify(warning)
    return finals, winner


def _measure_alone(
    runner: MeasuringRunner, index: int, finals: Finals, on_phase: Callable[[str], None]
) -> tuple[Finals, FinalistResult | None]:
    """A finalist in rounds of its own, twice if it is unclear; None if it fails or is no faster."""
    for again in ("", ", again"):
        on_phase(f"measuring candidate {index + 1} against the default{again}")
        finals = finals.with_own_rounds(runner.confirm(index))
        own = next((s for s in finals.standings if s.index == index), None)
        if own is None or own.speedup <= 1.0 + finals.noise_floor:
            return finals, None
        if _is_clear(own):
            break
    holds = own is not None and accepted(own, finals.noise_floor)
    return finals, own if holds else None


def _verification_error(runner: MeasuringRunner, index: int, spec: str) -> str:
    """Why a finalist is not right, in words; empty if it is."""
    try:
        runner.verify(index, spec)
    except RunFailed as failure:
        failure.raise_if_killed(not_measured(index))
        return str(failure)
    return ""


def accepted(finalist: FinalistResult, noise_floor: float) -> bool:
    """Whether a finalist beats the baseline by more than noise explains, even at its worst."""
    return finalist.interval[0] > 1.0 + noise_floor


def _is_clear(finalist: FinalistResult) -> bool:
    """Whether at its worst a gain is not almost nothing, as where something ran beside the rounds.

    A disturbed default was once 1.44 times as slow as a candidate, by an interval of 1.06 to 1.48,
    and when it was measured again as fast. Of kernels of 25 ms and more there are so few rounds
    that one in which the candidate is disturbed makes such an interval, too.
    """
    return finalist.interval[0] - 1 >= CLEAR_SHARE * (finalist.speedup - 1)


def verify_on(devices: Iterable[Device], executable: Path) -> None:
    """Compares outputs with the baseline's, on the devices' own inputs; the devices are closed.

    Args:
        devices: not started, with a seed other than that of the search, such as `OTHER_INPUTS`
            more, so that the search has not seen the inputs.

    Raises:
        RunFailed: they differ, or the executable does not run.
    """
    for device in devices:
        try:
            device.start()
            device.measure(executable, 0.0)
        finally:
            device.close()


def not_measured(index: int) -> str:
    """What is said of a finalist whose process was killed."""
    return f"finalist {index + 1} was not measured"
