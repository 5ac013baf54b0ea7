"""What every ranker keeps to, as checks to run on a ranker of your own.

    import pytest
    from frontrunner.models.testing import ranker_checks

    @pytest.mark.parametrize("check", ranker_checks("mine"), ids=str)
    def test_mine(check):
        check()

Without pytest, `check_ranker("mine")` runs them all. They need no data of yours. The package that
has the ranker must be installed, as saved rankers are found by name.
"""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .contract import (
        check_constructor_only_stores_parameters,
        check_contributions_add_up,
        check_fit_leaves_the_data_alone,
        check_fit_returns_self,
        check_is_registered,
        check_same_in_another_process,
        check_same_when_saved_and_loaded,
    )
    from .learning import (
        check_group_without_success,
        check_groups_in_any_order,
        check_groups_of_any_size,
        check_learns_from_constant_features,
        check_learns_from_missing_features,
        check_observing_reorders_what_is_left,
    )
    from .samples import measured_candidates, unseen_candidates
    from .scoring import (
        check_chunks_score_alike,
        check_empty_and_single_row_frames,
        check_missing_and_infinite_features,
        check_missing_columns_are_named,
        check_orders_every_candidate_once,
        check_other_columns_do_not_matter,
        check_scores_differ,
        check_scoring_leaves_everything_alone,
        check_unseen_kind_of_problem,
    )
    from .suite import CHECKS, RankerCheck, check_ranker, ranker_checks
else:
    __getattr__ = exports(__name__)

__all__ = [
    "CHECKS",
    "RankerCheck",
    "check_chunks_score_alike",
    "check_constructor_only_stores_parameters",
    "check_contributions_add_up",
    "check_empty_and_single_row_frames",
    "check_fit_leaves_the_data_alone",
    "check_fit_returns_self",
    "check_group_without_success",
    "check_groups_in_any_order",
    "check_groups_of_any_size",
    "check_is_registered",
    "check_learns_from_constant_features",
    "check_learns_from_missing_features",
    "check_missing_and_infinite_features",
    "check_missing_columns_are_named",
    "check_observing_reorders_what_is_left",
    "check_orders_every_candidate_once",
    "check_other_columns_do_not_matter",
    "check_ranker",
    "check_same_in_another_process",
    "check_same_when_saved_and_loaded",
    "check_scores_differ",
    "check_scoring_leaves_everything_alone",
    "check_unseen_kind_of_problem",
    "measured_candidates",
    "ranker_checks",
    "unseen_candidates",
]
