"""Whether outcomes and figures can be what was measured: files are edited, and made by others."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from .estimate import Repeat
from .finals import FinalistResult, Finals
from .outcome import BASELINE, OK, OUTCOME_KINDS, Outcome

# A speedup is the median of ratios, and its times are medians of their own: where a machine drifts,
# the ratio of these lies outside of the speedup's interval, by a factor of 1.36 under full load. It
# cannot lie outside of what the ratios span, so this is for files that do not have them.
SLACK = 2.0
# Of a median that is computed again.
ROUNDING = 1e-9


def outcome_error(
    index: int,
    outcome: Outcome,
    known: Mapping[int, Outcome],
    count: int,
    devices: Collection[str] | None,
) -> str:
    """What is wrong with an outcome, in words; empty if nothing is.

    Args:
        known: the outcomes before it, by queue position.
        count: candidates in the queue.
        devices: names of what they are measured on; none if nothing is measured, None if they
            come and go.
    """
    if index >= count:
        return f"candidate {index} is beyond the queue of {count}"
    if index in known:
        return f"candidate {index} has an outcome already"
    measured = devices is None or len(devices) > 0
    compiling = (outcome.stage == "compile" and outcome.kind != OK) or not measured
    known_device = outcome.device != "" if devices is None else outcome.device in devices
    if not known_device and not (compiling and not outcome.device):
        return f"candidate {index} is of device {outcome.device!r}"
    times = (outcome.time_us, outcome.baseline_us)
    if outcome.kind == OK and not all(_positive(t) if measured else t is None for t in times):
        return f"candidate {index} took {times[0]!r} us, the default {times[1]!r} us"
    if outcome.kind == OK and measured and not _positive(outcome.relative):
        return f"candidate {index} took {outcome.relative!r} times what the default did"
    if outcome.kind != OK and outcome.time_us is not None:
        return f"candidate {index} is {outcome.kind} and has a time"
    if outcome.baseline_us is not None and not _positive(outcome.baseline_us):
        return f"candidate {index} has a default of {outcome.baseline_us!r} us"
    if not (outcome.compile_s >= 0):
        return f"candidate {index} took {outcome.compile_s!r} s to compile"
    if outcome.same_as is not None:
        twin = known.get(outcome.same_as)
        if outcome.same_as != BASELINE and (
            twin is None or twin.executable != outcome.executable or twin.kind != outcome.kind
        ):
            return f"candidate {index} is the same as {outcome.same_as}, which is none"
    return ""


def repeat_error(repeat: Repeat, known: Mapping[int, Outcome], devices: Collection[str]) -> str:
    """What is wrong with a further measurement, in words; empty if nothing is."""
    if repeat.index != BASELINE and repeat.index not in known:
        return f"a further measurement is of candidate {repeat.index}"
    if repeat.device not in devices:
        return f"a further measurement is of device {repeat.device!r}"
    if repeat.block < 0:
        return f"a further measurement is in block {repeat.block}"
    failed = repeat.time_us is None and repeat.index != BASELINE
    return "" if failed or _positive(repeat.time_us) else f"it took {repeat.time_us!r} us"


def finals_error(finals: Finals, known: Mapping[int, Outcome] | None = None) -> str:
    """What is wrong with finals, in words; empty if nothing is.

    Args:
        known: outcomes by queue position; None where they are not at hand.
    """
    if not _positive(finals.baseline_us) or not finals.noise_floor >= 0:
        return f"the finals are of {finals.baseline_us!r} us, {finals.noise_floor!r} noise"
    for standing in finals.standings:
        outcome = None if known is None else known.get(standing.index)
        if known is not None and (outcome is None or outcome.kind != OK):
            return f"finalist {standing.index} did not run"
        wrong = speedup_error(
            standing.speedup,
            standing.interval,
            (standing.baseline_us or finals.baseline_us, standing.time_us),
            standing.ratios,
        )
        if wrong:
            return f"finalist {standing.index}: {wrong}"
    if len({s.index for s in finals.standings}) < len(finals.standings):
        return "a finalist is there twice"
    return ""


def winner_error(winner: FinalistResult | None, finals: Finals) -> str:
    """What is wrong with who won, in words; empty if nothing is.

    Older versions accepted by the median; whom today's accepts, they would have.
    """
    if winner is None:
        return ""
    if (
        winner not in finals.standings
        or winner.interval[0] <= 1.0
        or winner.speedup <= 1.0 + finals.noise_floor
    ):
        return f"candidate {winner.index + 1} did not beat the default beyond noise"
    # The winner is the last that was tried, so both are of its rounds.
    before_us = winner.baseline_us or finals.baseline_us
    if not math.isclose(before_us, finals.baseline_us, rel_tol=ROUNDING):
        return f"a default of {finals.baseline_us:g} us does not follow from {before_us:g} us"
    return ""


def speedup_error(
    speedup: float,
    interval: tuple[float, float],
    times_us: tuple[float, float],
    ratios: Sequence[float],
) -> str:
    """What is wrong with a speedup, in words; empty if nothing is.

    Args:
        interval: of the speedup.
        times_us: median times before and after.
        ratios: of each round; none in files of older versions, and where nothing was measured.
    """
    (low, high), (before_us, after_us) = interval, times_us
    if not all(map(_positive, (speedup, low, high, before_us, after_us, *ratios))):
        return f"speedup {speedup!r} ({low!r} to {high!r}), {before_us!r} to {after_us!r} us"
    if not low <= speedup <= high:
        return f"speedup {speedup:g} is outside its interval, {low:g} to {high:g}"
    least, most = low / SLACK, high * SLACK
    if ratios:
        least, most = min(ratios) * (1 - ROUNDING), max(ratios) * (1 + ROUNDING)
        if not math.isclose(speedup, statistics.median(ratios), rel_tol=ROUNDING):
            return f"speedup {speedup:g} is not the median of its {len(ratios)} rounds"
        if not least <= low <= high <= most:
            return f"the interval of speedup {speedup:g} does not follow from its rounds"
    if not least <= before_us / after_us <= most:
        return f"speedup {speedup:g} does not follow from {before_us:g} and {after_us:g} us"
    return ""


def check_counts(outcomes: Mapping[str, int], candidates: int) -> None:
    """Checks that counts of outcomes by kind add up.

    Raises:
        ValueError: they do not, or there is no such kind.
    """
    if unknown := set(outcomes) - set(OUTCOME_KINDS):
        raise ValueError(f"there is no outcome {min(unknown)!r}")
    if min(outcomes.values(), default=0) < 0 or sum(outcomes.values()) != candidates:
        raise ValueError(f"{dict(outcomes)} are not {candidates} candidates")


def _positive(value: Any) -> bool:
    return value is not None and math.isfinite(value) and value > 0
