"""Metrics of orders, and that the expectations of random order are what all orders average to."""

from __future__ import annotations

import warnings
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontrunner.experiments.evaluation.metrics import (
    BEST_OF_KS,
    CaseReference,
    best_shares,
    expected_best,
    expected_metrics,
    is_near_optimal,
    iterations_to,
    order_metrics,
    performance_score,
    time_score,
)

NAN = np.nan
TIMES = np.array([100.0, NAN, 104.0, 300.0, 109.0, 200.0])
SECONDS = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])


def average(scale: CaseReference, times: np.ndarray, seconds: np.ndarray) -> dict[str, float]:
    """All metrics, averaged over every order there is."""
    orders = [list(p) for p in permutations(range(len(times)))]
    all_of_them = [order_metrics(scale, times[o], seconds[o]) for o in orders]
    return {name: float(np.mean([m[name] for m in all_of_them])) for name in all_of_them[0]}


# Few distinct times, so that ties happen, and failures.
SPACES = st.lists(
    st.sampled_from([NAN, 10.0, 10.4, 10.9, 13.0, 20.0, 70.0]), min_size=1, max_size=6
).filter(lambda times: not np.isnan(times).all())


@settings(deadline=None, max_examples=60)
@given(SPACES, st.sampled_from([NAN, 9.0, 11.0, 15.0, 80.0]), st.data())
def test_the_expectation_is_the_average_over_all_orders(times, default, data):
    times = np.array(times)
    scale = CaseReference.of(times, default)
    cost = st.floats(0.1, 100)
    seconds = np.array(data.draw(st.lists(cost, min_size=len(times), max_size=len(times))))
    expected, found = (
        expected_metrics(scale, times, seconds),
        average(scale, times, seconds),
    )
    assert expected.keys() == found.keys()
    assert [expected[name] for name in found] == pytest.approx(
        list(found.values()), abs=1e-9, nan_ok=True
    )


def test_all_is_the_budget_where_the_whole_sample_failed():
    """What was measured of it beside the sample ran."""
    times = np.array([NAN, NAN, NAN, 5.0, 7.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scale = CaseReference.of(times, NAN, np.array([True, True, True, False, False]))
    assert len(scale.baseline) == 3


def test_an_order_by_hand():
    order = [1, 3, 5, 4, 2, 0]
    scale = CaseReference.of(TIMES)
    found = order_metrics(scale, TIMES[order], SECONDS[order])
    assert (found["iterations_1"], found["iterations_5"], found["iterations_10"]) == (6, 5, 4)
    assert found["best_of_1"] == 0
    assert found["best_of_8"] == found["best_of_64"] == 1
    assert found["seconds"] == 2 + 8 + 32 + 16 + 4
    assert list(best_shares(TIMES[order], 100.0)) == pytest.approx(
        [0, 1 / 3, 1 / 2, 100 / 109, 100 / 104, 1]
    )


@pytest.mark.parametrize(
    ("default", "regrets", "spec"),
    [
        (150.0, [0.5, 0.5, 0.0], 1.0),  # a failure and 300 are the default; then 100
        (250.0, [1.5, 1.5, 0.0], 1.0),
        (104.9, [0.049, 0.049, 0.0], 0.0),  # 100 is not faster by more than 5 %
        (50.0, [0.0, 0.0, 0.0], 0.0),  # nothing that is slower is taken
        (NAN, [2.0, 2.0, 0.0], NAN),  # a failure is the slowest
    ],
)
def test_regret_and_specs_beside_the_default(default, regrets, spec):
    scale = CaseReference.of(TIMES, default)
    taken = TIMES[[1, 3, 0, 2, 4, 5]]
    assert np.minimum.accumulate(scale.regrets(taken))[:3] == pytest.approx(regrets)
    found = order_metrics(scale, taken, SECONDS)
    assert (found["regret_1"], found["regret_8"]) == pytest.approx((regrets[0], regrets[-1]))
    assert found["spec"] == pytest.approx(spec, nan_ok=True)
    assert scale.default_wins == (default == 50)


def test_a_spec_is_one_of_the_first_64():
    times = np.append(np.full(64, 100.0), 50.0)
    scale = CaseReference.of(times, 100.0)
    assert order_metrics(scale, times, times)["spec"] == 0
    assert order_metrics(scale, times[::-1], times)["spec"] == 1
    assert expected_metrics(scale, times, times)["spec"] == pytest.approx(64 / 65)


def test_how_hard_a_case_is():
    scale = CaseReference.of(TIMES)
    assert (scale.best, scale.worst, scale.candidates) == (100, 300, 6)
    assert scale.near == {0.01: 1, 0.05: 2, 0.1: 3}
    assert scale.difficulty == pytest.approx(2 / 6)


def test_what_is_near_includes_the_limit_but_no_failure():
    assert list(is_near_optimal(np.array([100.0, 105.0, 105.1, NAN]), 100.0)) == [
        True,
        True,
        False,
        False,
    ]


def test_the_score_by_hand():
    # The median is 200, so the budget ends where random search is at 105 or less on average: with
    # all three, as two of three leave out the best with probability 1/3.
    times = np.array([100.0, 200.0, 300.0])
    scale = CaseReference.of(times)
    assert scale.baseline == pytest.approx([100, 100 / 3, 0])
    # At once; second (100 behind, then there); last (200, then 100 behind).
    assert order_metrics(scale, times[[0, 1, 2]], times)["score"] == pytest.approx((1 + 1 + 0) / 3)
    assert order_metrics(scale, times[[1, 0, 2]], times)["score"] == pytest.approx((0 + 1 + 0) / 3)
    assert order_metrics(scale, times[[2, 1, 0]], times)["score"] == pytest.approx((-1 - 2 + 0) / 3)


def test_the_score_of_a_space_of_which_most_is_the_best():
    """Random search never has it for certain: what is left is no unit to measure an order in."""
    times = np.array([100.0] * 600 + [200.0] * 400)
    scale = CaseReference.of(times)
    assert len(scale.baseline) < 10
    assert order_metrics(scale, times[::-1], times)["score"] > -1e4
    assert order_metrics(scale, times, times)["score"] == pytest.approx(1)


def test_the_score_counts_failures_as_the_slowest():
    times = np.array([100.0, 200.0, 300.0, NAN])
    scale = CaseReference.of(times)
    failed_first = order_metrics(scale, times[[3, 0, 1, 2]], times)["score"]
    slow_first = order_metrics(scale, times[[2, 0, 1, 3]], times)["score"]
    assert failed_first == slow_first < order_metrics(scale, times[[1, 0, 2, 3]], times)["score"]


def test_the_budget_ends_where_random_search_is_nearly_there():
    times = 100 + np.arange(1000.0)
    scale = CaseReference.of(times)
    # The expected rank after k of N is (N + 1) / (k + 1), and the cutoff is 5 % of the median.
    assert len(scale.baseline) == np.ceil(1001 / (0.05 * 499.5 + 1)) - 1
    assert scale.baseline == pytest.approx(1001 / (np.arange(len(scale.baseline)) + 2) - 1)


def test_one_candidate_or_equal_ones_score_nothing():
    for times in ([5.0], [5.0, 5.0, 5.0]):
        scale = CaseReference.of(np.array(times))
        assert order_metrics(scale, np.array(times), np.ones(3))["score"] == 0


def test_what_comes_after_the_decision_changes_nothing():
    times = np.random.default_rng(0).uniform(100, 1000, 500)
    times[0] = 99
    scale, taken, seconds = CaseReference.of(times, 500.0), np.roll(times, 80), np.arange(500.0)
    assert len(scale.baseline) < 81
    assert not scale.is_decided(taken[:80])
    assert scale.is_decided(taken[:81])
    whole = order_metrics(scale, taken, seconds)
    assert order_metrics(scale, taken[:81], seconds[:81]) == whole
    assert order_metrics(scale, np.append(taken[:81], taken[:80:-1]), seconds) == whole


def test_the_decision_waits_for_the_last_k_and_for_the_budget():
    easy = np.array([1.0] * 50 + [2.0] * 50)
    assert not CaseReference.of(easy).is_decided(easy[: max(BEST_OF_KS) - 1])
    assert CaseReference.of(easy).is_decided(easy[: max(BEST_OF_KS)])
    hard = np.append(1.0, np.linspace(1.9, 2.0, 999))
    budget = len(CaseReference.of(hard).baseline)
    assert budget > max(BEST_OF_KS)
    assert not CaseReference.of(hard).is_decided(hard[: budget - 1])
    assert CaseReference.of(hard).is_decided(hard[:budget])


def test_no_near_optimal_candidate_is_an_error():
    with pytest.raises(ValueError, match="none of 2 candidates is within 5%"):
        iterations_to(np.array([2.0, NAN]), 1.0)


def test_seconds_that_are_not_known_stay_unknown():
    seconds = SECONDS.copy()
    seconds[3] = NAN
    assert np.isnan(expected_metrics(CaseReference.of(TIMES), TIMES, seconds)["seconds"])
    order = [3, 0, 1, 2, 4, 5]
    assert np.isnan(order_metrics(CaseReference.of(TIMES), TIMES[order], seconds[order])["seconds"])


def test_expectations_of_a_large_space():
    ranked = np.sort(np.random.default_rng(0).exponential(size=5000))
    curve = expected_best(ranked, 2000)
    assert curve[0] == pytest.approx(ranked.mean())
    assert (np.diff(curve) < 0).all()
    assert expected_best(ranked[:50])[-1] == ranked[0]


def test_the_score_over_time_counts_what_candidates_cost():
    times = np.array([4.0, 3.0, 2.0, 1.0] * 5)
    scale = CaseReference.of(times)
    even = np.full(20, 2.0)
    # Where all cost the same it is the score over candidates.
    assert time_score(scale, times, even, 2.0) == pytest.approx(performance_score(scale, times))
    # Who has the best first is worth less if that one takes long.
    best_first = np.sort(times)
    slow = np.concatenate([[5.0], even[1:]])
    assert time_score(scale, best_first, slow, 2.0) < time_score(scale, best_first, even, 2.0)
    assert np.isnan(time_score(scale, times, np.full(20, np.nan), 2.0))
    assert np.isnan(time_score(scale, times, even, np.nan))
