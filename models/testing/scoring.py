"""Checks of what a trained ranker makes of candidates."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..ordering import order
from ..training import TIME_COLUMN
from .checked_ranker import (
    CheckedRanker,
    check,
    refusal,
    require,
    require_equal,
    require_finite,
    require_order,
    scores_of,
)
from .samples import measured_candidates, unseen_candidates

# So many times features are left out, each time others.
_PARTS = 8
# Rows of a chunk, which are no divisor of all.
_CHUNK = 37


@check
def check_orders_every_candidate_once(subject: CheckedRanker) -> None:
    """`score` gives a finite number per row, so that each candidate has its place."""
    require_finite(subject.trained, measured_candidates()[0])
    require_order(subject.trained, measured_candidates()[0])


@check
def check_scores_differ(subject: CheckedRanker) -> None:
    """Not all candidates have the same score, and lower scores come first."""
    frame = measured_candidates()[0]
    scores = scores_of(subject.trained, frame)
    require(len(np.unique(scores)) > 1, f"all {len(frame)} candidates have the score {scores[0]}")
    found = scores[order(subject.trained, frame)]
    at = slice(1) if subject.cls.spreads_tiles else slice(None)
    require(
        (found[at] == np.sort(scores)[at]).all(), "candidates with lower scores do not come first"
    )


@check
def check_scoring_leaves_everything_alone(subject: CheckedRanker) -> None:
    """`score` changes neither the frame nor the ranker: asked again, it says the same."""
    frame = measured_candidates()[0]
    before, first = frame.copy(), scores_of(subject.trained, frame)
    try:
        pd.testing.assert_frame_equal(frame, before)
    except AssertionError as error:
        raise AssertionError(f"score() has changed the frame that it was given: {error}") from error
    require_equal(scores_of(subject.trained, frame), first, "asked again, it scores otherwise")


@check
def check_other_columns_do_not_matter(subject: CheckedRanker) -> None:
    """Neither further columns, such as times, nor the order of columns change the scores."""
    frame = measured_candidates()[0]
    other = frame[frame.columns[::-1]].assign(**{TIME_COLUMN: 1.0}, dist_m=7, note="x")
    require_equal(
        scores_of(subject.trained, other),
        scores_of(subject.trained, frame),
        "with columns in another order, other times and other columns it scores otherwise",
    )


@check
def check_missing_columns_are_named(subject: CheckedRanker) -> None:
    """Without a feature that it needs it raises an `InputError` that names itself and the feature.

    `frontrunner.models.feature_matrix` does so. Features that are not needed may be missing.
    """
    ranker, frame = subject.trained, measured_candidates()[0].drop(columns=TIME_COLUMN)
    scores = scores_of(ranker, frame)
    names = list(frame.columns)
    for dropped in [names, *(names[i::_PARTS] for i in range(_PARTS))]:
        less = frame.drop(columns=dropped)
        wrong = refusal(lambda less=less: ranker.score(less))  # type: ignore[misc]
        if wrong is None:
            require_equal(
                scores_of(ranker, less),
                scores,
                f"without the columns {dropped[:3]}, ... it scores otherwise; where it needs them, "
                "it has to raise an InputError",
            )
        else:
            require(
                repr(subject.name) in wrong and any(name in wrong for name in dropped),
                f"the error has to name the ranker {subject.name!r} and the features that are "
                f"missing, such as {dropped[:3]}, got: {wrong}",
            )


@check
def check_missing_and_infinite_features(subject: CheckedRanker) -> None:
    """It orders candidates of which some features, or all, are missing or infinite."""
    frame = measured_candidates()[0].head(40).astype("float64")
    frame.loc[3, :] = np.nan
    for i, column in enumerate(frame.columns):
        frame.loc[5 + i % 16, column] = np.inf if i % 2 else -np.inf
    require_order(subject.trained, frame)


@check
def check_empty_and_single_row_frames(subject: CheckedRanker) -> None:
    """Of no candidates it makes no scores, of one candidate one."""
    frame = measured_candidates()[0]
    for rows in (0, 1):
        scores_of(subject.trained, frame.head(rows))
        found = order(subject.trained, frame.head(rows)).tolist()
        require(found == list(range(rows)), f"the order of {rows} candidates is {found}")


@check
def check_chunks_score_alike(subject: CheckedRanker) -> None:
    """`score_chunks` says of pieces of a frame what `score` says of the whole."""
    frame = measured_candidates()[0].reset_index(drop=True)
    for rows in (1, _CHUNK):
        chunks = (frame.iloc[start : start + rows] for start in range(0, len(frame), rows))
        require_equal(
            subject.trained.score_chunks(chunks, len(frame)),
            scores_of(subject.trained, frame),
            f"in chunks of {rows} it scores otherwise; `row_by_row` is for rankers whose scores "
            "do not depend on the other rows",
        )


@check
def check_unseen_kind_of_problem(subject: CheckedRanker) -> None:
    """It orders candidates of a kind of problem, a convolution, that it did not learn from."""
    require_finite(subject.trained, unseen_candidates())
    require_order(subject.trained, unseen_candidates())
