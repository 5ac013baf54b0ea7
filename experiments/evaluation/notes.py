"""What has to be known beside an evaluation's figures: what they are about, and which flatter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from ..learning import Case
from ..readable import count_of
from .contenders import Contender
from .holdout import DEVICE, FAMILY, PROBLEM, Fold
from .resampling import ENOUGH, FEWEST, resampled_levels

PLURALS = {PROBLEM: "problems", FAMILY: "families", DEVICE: "devices"}


def count_data(results: pd.DataFrame) -> dict[str, int]:
    """How much there is: recordings, problems, families, devices, and where the default wins."""
    return {
        "recordings": results.case.nunique(),
        **{plural: results[one].nunique() for one, plural in PLURALS.items()},
        "default_wins": results.case[results.default_wins].nunique(),
    }


def data_notes(results: pd.DataFrame, holdout: str) -> Iterator[str]:
    """What the figures are about, and of what their intervals tell nothing."""
    counts = count_data(results)
    told = {one: _count(counts[plural], one) for one, plural in PLURALS.items()}
    yield f"{count_of(counts['recordings'], 'recording')}: {', '.join(told.values())}"
    outermost = resampled_levels(results, holdout)[0]
    if outermost == FAMILY:
        yield f"intervals are over {told[FAMILY]}, and over the problems of each"
    elif outermost == DEVICE:
        yield f"intervals are over {told[DEVICE]} and over {told[PROBLEM]}"
    elif holdout == PROBLEM:
        yield f"intervals are over {told[PROBLEM]}; they say nothing about other devices"
    else:
        yield (
            f"{told[holdout]}: the interval is over their problems; it says nothing about other "
            f"{PLURALS[holdout]}"
        )
    if counts["problems"] < ENOUGH:
        yield (
            f"{told[PROBLEM]}: bootstrap intervals over fewer than {ENOUGH} are too narrow, and "
            f"over fewer than {FEWEST} there are none"
        )
    yield from sample_notes(results)
    if wins := counts["default_wins"]:
        yield (
            f"the default wins: {count_of(wins, 'case')}, where it is faster than every candidate, "
            "counted in regret and specs only"
        )


def sample_notes(results: pd.DataFrame) -> Iterator[str]:
    """Where random order draws from fewer candidates than the others."""
    if chosen := results.case[results.measured > results.candidates].nunique():
        yield (
            f"of {count_of(chosen, 'recording')}, candidates that were not drawn at random "
            "were measured, too: random order draws from the uniform sample alone, other rankers "
            "from all"
        )
    without = results[(results.difficulty == 0) & ~results.default_wins].case.nunique()
    if without:
        yield (
            f"in {count_of(without, 'recording')}, no candidate of the uniform sample is "
            "near-optimal: random order counts as one more than it has, the least that it takes"
        )


def contender_notes(
    contenders: Sequence[Contender], cases: Sequence[Case], folds: Sequence[Fold]
) -> Iterator[str]:
    """Which rankers are judged on what they have learned from, on devices that they do not know, or
    on less than they would see."""
    alone = [fold for fold in folds if not fold.train]
    untrained = [case for fold in alone for case in fold.test]
    if alone and any(c.learns and not c.needs_fit for c in contenders):
        yield (
            f"there was nothing to learn {', '.join(fold.left_out for fold in alone)} from: "
            "rankers that need no training are as they ship there, the others at random"
        )
    for contender in contenders:
        if warning := contender.device_warning(cases):
            yield f"{contender.name}: {warning}"
        if seen := contender.cases_trained_on(cases if contender.is_trained else untrained):
            yield (
                f"{contender.name} was trained on {len(seen)} of these {len(cases)} recordings, "
                f"such as {seen[0]}: what it learned by heart flatters it"
            )
    if limited := [c.name for c in contenders if c.searches_knobs]:
        largest = max(len(case.times) for case in cases)
        yield (
            f"limited to the recorded candidates, at most {largest:,} of a space: "
            f"{', '.join(limited)}; what they would step to is seldom among them"
        )


def _count(number: int, one: str) -> str:
    return f"{number} {one if number == 1 else PLURALS[one]}"
