"""Checks of what a ranker may be given to learn from."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ...features import CPU
from ..ranker import AdaptiveRanker
from ..training import TIME_COLUMN
from .checked_ranker import (
    CheckedRanker,
    check,
    require,
    require_equal,
    require_finite,
    require_order,
    scores_of,
)
from .samples import measured_candidates

# So many candidates are measured before those that are left are ordered.
_TAKEN = 12


@check
def check_learns_from_missing_features(subject: CheckedRanker) -> None:
    """It learns from features that are missing in some rows, in all rows, or are constant."""
    frame, groups = measured_candidates()
    frame["vec_m_log2"] = 1.0
    frame.loc[::3, "register_pressure"] = np.nan
    frame["conflicts_rhs"] = np.nan
    require_order(subject.make().fit(frame, groups), frame)


@check
def check_learns_from_constant_features(subject: CheckedRanker) -> None:
    """It learns from candidates that no feature tells apart, and orders them in some way."""
    frame, groups = measured_candidates()
    frame.loc[:, list(CPU.names)] = 1.0
    require_order(subject.make().fit(frame, groups), frame)


@check
def check_groups_of_any_size(subject: CheckedRanker) -> None:
    """It learns from one candidate, from one problem, and from problems of one candidate each."""
    measured, _ = measured_candidates()
    for sizes in ([1], [600], [1, 1, 598], [1] * 600, [2, 3, 595]):
        frame = measured.head(sum(sizes)).copy()
        if sizes == [1]:
            frame[TIME_COLUMN] = frame[TIME_COLUMN].fillna(1e9)
        groups = np.repeat(np.arange(len(sizes)), sizes)
        require_finite(subject.make().fit(frame, groups), measured)


@check
def check_groups_in_any_order(subject: CheckedRanker) -> None:
    """Rows of a group need not stand together, and groups may be named by strings, as a series."""
    frame, groups = measured_candidates()
    rows = np.random.default_rng(0).permutation(len(frame))
    named = pd.Series(groups[rows], index=rows)
    require_order(subject.make().fit(frame.iloc[rows], named), frame)


@check
def check_group_without_success(subject: CheckedRanker) -> None:
    """It learns where all candidates of one problem failed, so that their times are missing."""
    frame, groups = measured_candidates()
    frame.loc[groups == "odd", TIME_COLUMN] = np.nan
    require_finite(subject.make().fit(frame, groups), frame)


@check
def check_observing_reorders_what_is_left(subject: CheckedRanker) -> None:
    """A ranker that looks back orders what is left after `observe`; others pass.

    `observe` returns self, changes no data and forgets earlier calls; failures teach, too.
    """
    if not issubclass(subject.cls, AdaptiveRanker):
        return
    frame, groups = measured_candidates()
    one = frame[groups == "skinny"]
    left = one.drop(columns=TIME_COLUMN).iloc[_TAKEN:]
    told = []
    for looks in ([_TAKEN], [4, _TAKEN], [0, _TAKEN]):
        ranker = _adaptive(subject).fit(frame, groups)
        require(ranker.batch >= 1, f"batch has to be 1 or more, got {ranker.batch}")
        for count in looks:
            measured = one.head(count)
            before = measured.copy()
            require(ranker.observe(measured) is ranker, "observe() has to return self")
            require(measured.equals(before), "observe() has changed the frame that it was given")
        require_order(ranker, left)
        told.append(scores_of(ranker, left))
    for scores in told[1:]:
        require_equal(scores, told[0], "what was observed before still counts after observe()")
    for few in (1, 2, 3):  # a run may be ended after its first
        ranker = _adaptive(subject).fit(frame, groups).observe(one.head(few))
        require_order(ranker, left)
    failed = _adaptive(subject).fit(frame, groups)
    require_order(failed.observe(one.head(_TAKEN).assign(**{TIME_COLUMN: np.nan})), left)


def _adaptive(subject: CheckedRanker) -> AdaptiveRanker:
    ranker = subject.make()
    assert isinstance(ranker, AdaptiveRanker)
    return ranker
