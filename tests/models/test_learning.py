"""That the rankers that learn do learn, and what they refuse to learn from."""

from __future__ import annotations

import numpy as np
import pytest

from frontrunner.core.errors import InputError
from frontrunner.models import create_ranker, order
from frontrunner.models.trees import forest

LEARNERS = [
    ("forest", {"trees": 50}),
    ("lightgbm", {"rounds": 60}),
    ("lightgbm", {"rounds": 60, "objective": "lambdarank"}),
]


def first_near_optimal(ranker, frame) -> int:
    times = frame["time_us"].to_numpy()[order(ranker, frame)]
    return int(np.flatnonzero(times <= 1.05 * np.nanmin(times))[0]) + 1


@pytest.mark.parametrize(("name", "params"), LEARNERS)
def test_finds_a_near_optimal_candidate_of_a_new_problem_before_shuffle(
    name, params, training, samples
):
    frame, groups = training
    held_out = groups == "odd"
    ranker = create_ranker(name, **params).fit(frame[~held_out], groups[~held_out])
    new = frame[held_out]
    shuffled = [first_near_optimal(create_ranker("shuffle", seed=s), new) for s in range(50)]
    assert first_near_optimal(ranker, new) < np.median(shuffled) / 2


@pytest.mark.parametrize(("name", "params"), LEARNERS)
def test_failures_come_after_the_faster_half(name, params, training):
    frame, groups = training
    ranker = create_ranker(name, **params).fit(frame, groups)
    failed = frame["time_us"].isna().to_numpy()
    scores = ranker.score(frame)
    fast = (frame["time_us"] <= frame["time_us"].groupby(groups).transform("median")).to_numpy()
    assert 10 < failed.sum() < len(frame) / 2
    assert np.median(scores[failed]) > np.median(scores[fast])


@pytest.mark.parametrize(("name", "params"), LEARNERS)
def test_the_seed_and_only_the_seed_is_random(name, params, training):
    first, same, other = (create_ranker(name, **params, seed=s).fit(*training) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.score(training[0]), same.score(training[0]))
    assert (first.score(training[0]) != other.score(training[0])).any()


@pytest.mark.parametrize(("name", "params"), LEARNERS)
def test_only_times_of_the_same_group_are_compared(name, params, training):
    frame, groups = training
    slower = frame.assign(time_us=frame["time_us"] * np.where(groups == "odd", 1024.0, 1.0))
    one, two = (create_ranker(name, **params).fit(f, groups) for f in (frame, slower))
    np.testing.assert_allclose(one.score(frame), two.score(frame), atol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f, g: (f.drop(columns="time_us"), g), "needs a column 'time_us'"),
        (lambda f, g: (f, g[:-1]), "got 599 groups for 600 rows"),
        (lambda f, g: (f.assign(time_us=np.nan), g), "none of 600 candidates has a time"),
        (lambda f, g: (f.iloc[:0], g[:0]), "none of 0 candidates has a time"),
        (lambda f, g: (f.assign(time_us=0.0), g), "must be positive.*got 0.0"),
        (lambda f, g: (f.assign(time_us=np.inf), g), "must be positive.*got inf"),
        (lambda f, g: (f.drop(columns="peel"), g), "frame lacks: peel"),
        (lambda f, g: (f, np.where(g == "odd", None, g)), "must name a problem for every row"),
    ],
)
@pytest.mark.parametrize("name", ["forest", "lightgbm"])
def test_what_cannot_be_learned_from_is_refused(name, change, message, training):
    with pytest.raises(InputError, match=message):
        create_ranker(name).fit(*change(*training))


@pytest.mark.parametrize("name", ["forest", "lightgbm"])
def test_scoring_before_training_is_refused(name, training):
    with pytest.raises(InputError, match="is not trained"):
        create_ranker(name).score(training[0])


def test_an_unknown_objective_is_refused(training):
    with pytest.raises(InputError, match="must be one of lambdarank, regression, got 'best'"):
        create_ranker("lightgbm", objective="best").fit(*training)


def test_groups_above_the_limit_of_lightgbm(training, monkeypatch):
    from frontrunner.models import training as module

    monkeypatch.setattr(module, "MAX_GROUP", 40)
    data = module.Training.of(*training, "test")
    rows, sizes = data.group_rows()
    assert sorted(rows) == list(range(len(data.speed)))
    assert sizes.max() <= 40
    assert len(sizes) == 4 * 4
    ends = np.cumsum(sizes)
    for start, end in zip(ends - sizes, ends, strict=True):
        assert len(set(data.groups[rows[start:end]])) == 1


def test_relevance_puts_the_slowest_success_above_a_failure():
    from frontrunner.models.trees.boosting import _relevance

    assert _relevance(np.array([0.0, 1e-6, 0.5, 1.0])).tolist() == [0, 1, 8, 15]


def test_trees_learn_what_the_cost_model_leaves(training):
    frame, groups = training
    both = create_ranker("lightgbm", rounds=20).fit(frame, groups)
    alone = create_ranker("lightgbm", rounds=20, cost_model=False).fit(frame, groups)
    assert not alone.trees_.slopes.any()
    names = np.array(both.catalogue_.names)
    assert list(names[both.trees_.slopes != 0]) == ["cycles_log2"]
    # What a line explains is left to no tree.
    exact = frame.assign(time_us=frame.groupby(groups)["time_us"].rank(na_option="bottom"))
    exact["cycles_log2"] = np.log(exact["time_us"]) + 7
    linear = create_ranker("lightgbm", rounds=20).fit(exact, groups)
    assert linear.trees_.slopes.min() == pytest.approx(-1, abs=0.01)
    assert np.ptp(linear.score(exact) - exact["cycles_log2"]) < 0.05
    # Fewer cycles come first, and the feature's share is told.
    assert both.trees_.slopes.min() < 0
    assert both.importances()["cycles_log2"] > alone.importances()["cycles_log2"]
    assert both.importances().sum() == pytest.approx(1)
    slower = frame.assign(cycles_log2=frame["cycles_log2"] + 100)
    assert (both.score(slower) > both.score(frame) + 10).all()
    shares = both.contributions(frame.head(40))
    np.testing.assert_allclose(shares.sum(axis=1), both.score(frame.head(40)), rtol=1e-5)
    # More cycles are never said to be better, and what is missing is of no account.
    worse = frame.assign(cycles_log2=-exact["cycles_log2"])
    assert not create_ranker("lightgbm", rounds=2).fit(worse, groups).trees_.slopes.any()
    holes = frame.copy()
    holes.loc[holes.index[:9], "cycles_log2"] = np.nan
    assert np.isfinite(create_ranker("lightgbm", rounds=2).fit(holes, groups).score(holes)).all()
    # Pairs have no scale on which a line could be.
    pairs = create_ranker("lightgbm", rounds=2, objective="lambdarank").fit(frame, groups)
    assert not pairs.trees_.slopes.any()


@pytest.mark.parametrize("name", ["forest", "lightgbm", "cpu", "adaptive"])
def test_training_tells_how_far_it_is(name, training):
    ranker, told = create_ranker(name), []
    ranker.on_progress = lambda done, total: told.append(done / total)
    ranker.fit(*training)
    assert told == sorted(set(told))
    assert len(told) > 1 and told[-1] == 1


def test_a_forest_is_the_same_whatever_the_number_of_threads(training):
    one, three = (create_ranker("forest", threads=count).fit(*training) for count in (1, 3))
    assert one.dump() == three.dump()


def test_trees_grown_some_at_a_time_are_those_grown_at_once(training, monkeypatch):
    pieces = create_ranker("forest").fit(*training).dump()
    monkeypatch.setattr(forest, "AT_A_TIME", 1000)
    assert create_ranker("forest").fit(*training).dump() == pieces
