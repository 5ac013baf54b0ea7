"""All checks of a ranker, one after the other or as one test each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import contract, learning, scoring
from .checked_ranker import Check, Checkable, CheckedRanker

CHECKS: tuple[Check, ...] = (
    contract.check_is_registered,
    contract.check_constructor_only_stores_parameters,
    contract.check_fit_returns_self,
    contract.check_fit_leaves_the_data_alone,
    scoring.check_orders_every_candidate_once,
    scoring.check_scores_differ,
    scoring.check_scoring_leaves_everything_alone,
    scoring.check_other_columns_do_not_matter,
    scoring.check_missing_columns_are_named,
    scoring.check_missing_and_infinite_features,
    scoring.check_empty_and_single_row_frames,
    scoring.check_chunks_score_alike,
    scoring.check_unseen_kind_of_problem,
    learning.check_learns_from_missing_features,
    learning.check_learns_from_constant_features,
    learning.check_groups_of_any_size,
    learning.check_groups_in_any_order,
    learning.check_group_without_success,
    learning.check_observing_reorders_what_is_left,
    contract.check_contributions_add_up,
    contract.check_same_when_saved_and_loaded,
    contract.check_same_in_another_process,
)


@dataclass(frozen=True)
class RankerCheck:
    """One check of one ranker: called, it passes or raises an `AssertionError`.

    Its text names both, as a test's id.
    """

    check: Check
    subject: CheckedRanker

    def __call__(self) -> None:
        self.check(self.subject)

    def __str__(self) -> str:
        return f"{self.check.__name__}-{self.subject}"


def check_ranker(ranker: Checkable, /, **params: Any) -> None:
    """Runs all checks on a ranker.

    Args:
        ranker: its name, its class, or a function without parameters that makes one.
        params: its constructor's parameters.

    Raises:
        AssertionError: by the first check that fails, saying what the ranker did.
    """
    for check in ranker_checks((ranker, params)):
        check()


def ranker_checks(*rankers: Checkable | tuple[Checkable, Mapping[str, Any]]) -> list[RankerCheck]:
    """All checks of rankers, to be run as one test each.

    With pytest: `@pytest.mark.parametrize("check", ranker_checks("mine"), ids=str)`, and the test
    calls `check()`. Rankers are looked up, and trained, when the first of their checks runs.

    Args:
        rankers: each as for `check_ranker`, or that and its parameters as a pair.
    """
    subjects = tuple(
        CheckedRanker(*ranker) if isinstance(ranker, tuple) else CheckedRanker(ranker, {})
        for ranker in rankers
    )
    for subject in subjects:
        subject.shared_with = subjects
    return [RankerCheck(check, subject) for subject in subjects for check in CHECKS]
