"""The ranker that looks back."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from frontrunner.core.errors import InputError
from frontrunner.features import extract_knobs, generic_catalogue_of_frames
from frontrunner.models import Ranker, create_ranker, load, order, save
from frontrunner.models.adaptive import ThompsonRanker

KNOBS = pd.DataFrame(
    list(product([16, 32, 64, 128], [1, 2, 4, 8, 16], [1, 2, 4, 8], [0, 1], [1, 2, 3, 5, 7])),
    columns=["block_x", "block_y", "tile", "pad", "stride"],
)
FRAME = extract_knobs(generic_catalogue_of_frames([KNOBS]), KNOBS)
# A landscape with one valley, a knob that matters little and one that matters in one place.
_THREADS = KNOBS.block_x * KNOBS.block_y
TIMES = (
    100
    + 30 * np.abs(np.log2(_THREADS / 256)) ** 1.5
    + 25 * np.abs(np.log2(KNOBS.tile) - 2)
    + 4 * KNOBS.stride * (2 - KNOBS["pad"])
    + 8 * np.abs(np.log2(KNOBS.block_y) - 3)
).to_numpy(dtype=np.float64, copy=True)
TIMES[(_THREADS > 1024).to_numpy()] = np.nan
NEAR = 1.05 * np.nanmin(TIMES) >= TIMES
SHUFFLE = (len(TIMES) + 1) / (NEAR.sum() + 1)


class Oracle(Ranker):
    """Says what it was told to say."""

    name = "oracle"

    def __init__(self, *, scores) -> None:
        self.scores = pd.Series(scores, map(tuple, FRAME.to_numpy()))

    def score(self, frame):
        return self.scores[list(map(tuple, frame[FRAME.columns].to_numpy()))].to_numpy()


def adaptive(scores=None, **params) -> ThompsonRanker:
    ranker = ThompsonRanker(**params)
    if scores is not None:
        ranker.prior_ = Oracle(scores=scores)
    return ranker


def search(ranker, most=400) -> list[int]:
    """The rows that are taken until a near-optimal one is among them."""
    taken: list[int] = []
    while len(taken) < most:
        left = np.setdiff1d(np.arange(len(TIMES)), taken)
        taken += [int(i) for i in left[order(ranker, FRAME.iloc[left])][: ranker.batch]]
        if NEAR[taken].any():
            break
        ranker.observe(FRAME.iloc[taken].assign(time_us=TIMES[taken]))
    return taken


def iterations(ranker) -> int:
    return int(np.flatnonzero(NEAR[search(ranker)])[0]) + 1


SLOWNESS = np.nan_to_num(TIMES, nan=1e4)


def test_the_landscape_is_not_easy():
    assert 100 < SHUFFLE < 300


def test_a_good_prior_is_followed():
    assert iterations(adaptive(SLOWNESS)) == 1


@pytest.mark.parametrize("seed", range(2))
def test_an_adversarial_prior_costs_little(seed):
    """It has the order upside down: followed, it would find the best among the last."""
    assert iterations(adaptive(-SLOWNESS, seed=seed)) <= 1.2 * SHUFFLE


def test_priors_that_know_nothing_or_lie_cost_less_than_shuffle():
    noise = np.random.default_rng(5).random(len(TIMES))
    for scores in (-SLOWNESS, noise, np.zeros(len(TIMES))):
        found = [iterations(adaptive(scores, seed=seed)) for seed in range(3)]
        assert np.mean(found) <= SHUFFLE / 1.5


def test_a_prior_that_hides_the_best_is_doubted_although_all_outcomes_bear_it_out():
    hides = np.where(1.15 * np.nanmin(TIMES) >= TIMES, 1e9, SLOWNESS)
    found = [iterations(adaptive(hides, seed=seed)) for seed in range(3)]
    assert np.mean(found) <= SHUFFLE


def test_a_prior_whose_scores_stay_is_asked_once_and_the_order_is_the_same():
    class Same(Oracle):
        row_by_row = True
        asked = 0

        def score(self, frame):
            Same.asked += 1
            return super().score(frame)

    def search_prepared(by_row: bool) -> list[int]:
        ranker = adaptive()
        ranker.prior_ = (Same if by_row else Oracle)(scores=SLOWNESS)
        frame, taken = ranker.prepare(FRAME), list[int]()
        assert (frame is FRAME) == (not by_row)
        for _ in range(5):
            left = np.setdiff1d(np.arange(len(TIMES)), taken)
            ranker.observe(frame.iloc[taken].assign(time_us=TIMES[taken]))
            taken += [int(i) for i in left[order(ranker, frame.iloc[left])][: ranker.batch]]
        return taken

    assert search_prepared(by_row=True) == search_prepared(by_row=False)
    assert Same.asked == 1


def test_what_a_prior_has_no_score_for_comes_last():
    measured = FRAME.iloc[:40].assign(time_us=TIMES[:40])
    assert np.isnan(TIMES[40:]).any()
    orders = [order(adaptive(s).observe(measured), FRAME.iloc[40:]) for s in (TIMES, SLOWNESS)]
    np.testing.assert_array_equal(*orders)


def test_nothing_is_a_prior():
    found = [iterations(adaptive(prior="nothing", seed=seed)) for seed in range(3)]
    assert np.mean(found) <= SHUFFLE / 1.5
    assert len({tuple(search(adaptive(prior="nothing", seed=seed))[:8]) for seed in range(3)}) == 3


def test_a_share_of_each_batch_is_taken_by_lot():
    ranker = adaptive(SLOWNESS, explore=0.25)
    ranked = order(ranker, FRAME)
    assert list(ranked[:6]) == list(np.argsort(SLOWNESS, kind="stable")[:6]) or set(
        SLOWNESS[ranked[:6]]
    ) == set(np.sort(SLOWNESS)[:6])
    assert np.median(SLOWNESS[ranked[6:8]]) > np.quantile(SLOWNESS, 0.05)
    greedy = order(adaptive(SLOWNESS, explore=0.0), FRAME)
    assert (np.diff(SLOWNESS[greedy]) >= 0).all()


def test_all_by_lot_is_a_shuffle():
    ranked = order(adaptive(SLOWNESS, explore=1.0), FRAME)
    assert np.median(SLOWNESS[ranked[:8]]) > np.quantile(SLOWNESS, 0.05)


def test_scores_are_an_order_of_all():
    ranker = adaptive(SLOWNESS)
    measured = FRAME.iloc[:20].assign(time_us=TIMES[:20])
    scores = ranker.observe(measured).score(FRAME.iloc[20:])
    assert sorted(scores) == list(range(len(FRAME) - 20))


def test_a_resumed_search_takes_the_same_order():
    """What is next depends on what was measured, not on when it was told."""
    first = adaptive(SLOWNESS[::-1], seed=3)
    taken = search(first, most=60)
    measured = FRAME.iloc[taken].assign(time_us=TIMES[taken])
    left = FRAME.drop(index=measured.index)
    again = adaptive(SLOWNESS[::-1], seed=3).observe(measured)
    assert list(first.observe(measured).score(left)) == list(again.score(left))


def test_a_resumed_search_of_a_large_space_takes_the_same_order():
    """Whether it was asked before, with fewer measurements, makes no difference."""
    rng = np.random.default_rng(0)
    some = rng.normal(size=(4000, 10))
    knobs = pd.DataFrame(np.hstack([some, some + rng.normal(0, 0.33, some.shape)]))
    knobs = knobs.rename(columns=str)
    frame = extract_knobs(generic_catalogue_of_frames([knobs]), knobs).assign(
        time_us=rng.random(len(knobs))
    )
    frame = frame.iloc[rng.permutation(len(frame))]
    first = ThompsonRanker(prior="nothing").observe(frame.iloc[:8])
    first.score(frame.iloc[8:].sort_index())
    again = ThompsonRanker(prior="nothing")
    left = frame.iloc[10:].sort_index()
    told = [ranker.observe(frame.iloc[:10]).score(left) for ranker in (first, again)]
    assert list(told[0]) == list(told[1])


def test_another_search_starts_anew():
    ranker = adaptive(SLOWNESS)
    before = list(ranker.score(FRAME))
    ranker.observe(FRAME.iloc[:30].assign(time_us=TIMES[:30]))
    assert list(ranker.score(FRAME)) != before
    ranker.observe(FRAME.iloc[:0].assign(time_us=[]))
    assert list(ranker.score(FRAME)) == before


@pytest.mark.parametrize("failed", [1, 7, 8])
def test_failures_are_outcomes_too(failed):
    times = TIMES[:8].copy()
    times[:failed] = np.nan
    ranker = adaptive(SLOWNESS).observe(FRAME.iloc[:8].assign(time_us=times))
    assert sorted(ranker.score(FRAME.iloc[8:])) == list(range(len(FRAME) - 8))


@pytest.mark.parametrize("success", [15, 21, 29])
def test_a_late_first_success_is_learned_from(success):
    count = success // 8 * 8 + 8
    times = np.where(np.arange(count) == success, 5.0, np.nan)
    ranker = adaptive(SLOWNESS).observe(FRAME.iloc[:count].assign(time_us=times))
    assert sorted(ranker.score(FRAME.iloc[count:])) == list(range(len(FRAME) - count))


def test_failures_are_avoided():
    """After failures on one side, the other is preferred."""
    rows = np.concatenate([np.flatnonzero(np.isnan(TIMES))[:10], np.flatnonzero(~NEAR)[:10]])
    ranker = adaptive(np.zeros(len(TIMES)), explore=0.0)
    ranker.observe(FRAME.iloc[rows].assign(time_us=TIMES[rows]))
    left = FRAME.drop(index=FRAME.index[rows])
    chosen = left.index[order(ranker, left)][:8]
    assert np.isnan(TIMES[chosen]).mean() < np.isnan(TIMES).mean()


def test_failures_are_avoided_where_one_alone_succeeded():
    """There is no spread of times by which they could be worse than the worst."""
    narrow = (KNOBS.block_x <= 32).to_numpy()
    rng = np.random.default_rng(0)
    rows = [rng.choice(np.flatnonzero(~narrow)), *rng.choice(np.flatnonzero(narrow), 7, False)]
    ranker = adaptive(np.zeros(len(TIMES)), explore=0.0)
    ranker.observe(FRAME.iloc[rows].assign(time_us=[50.0] + [np.nan] * 7))
    left = FRAME.drop(index=FRAME.index[rows])
    assert narrow[left.index[order(ranker, left)][:8]].mean() < narrow.mean() / 2


def test_small_batches_explore_now_and_then():
    """A quarter of one candidate is none, and one in four batches."""
    best = order(adaptive(SLOWNESS, batch=1, explore=0.0), FRAME)[0]
    firsts = [order(adaptive(SLOWNESS, batch=1, seed=seed), FRAME)[0] for seed in range(40)]
    assert 0 < np.sum(np.array(firsts) != best) < 20


def test_equal_times_are_no_reason_to_fail():
    ranker = adaptive(SLOWNESS).observe(FRAME.iloc[:16].assign(time_us=5.0))
    assert sorted(ranker.score(FRAME.iloc[16:])) == list(range(len(FRAME) - 16))


@pytest.mark.parametrize("varying", [0, 1])
def test_features_that_hardly_differ_are_no_reason_to_fail(varying):
    frame = FRAME.copy()
    frame.iloc[:, varying:] = 1.0
    ranker = ThompsonRanker(prior="nothing")
    ranker.observe(frame.iloc[:16].assign(time_us=TIMES[:16]))
    assert sorted(ranker.score(frame.iloc[16:])) == list(range(len(FRAME) - 16))


def test_scores_are_an_order_of_very_many():
    many = pd.concat([FRAME] * (8192 // len(FRAME) + 1), ignore_index=True)
    ranker = adaptive(SLOWNESS).observe(FRAME.iloc[:16].assign(time_us=TIMES[:16]))
    assert sorted(ranker.score(many)) == list(range(len(many)))


def test_it_trains_its_prior_and_is_saved_with_it(tmp_path):
    frame = FRAME.assign(time_us=TIMES)
    ranker = create_ranker("adaptive", seed=1).fit(frame, np.zeros(len(frame)))
    assert iterations(ranker) <= 2
    save(ranker, tmp_path / "a.predictor")
    loaded = load(tmp_path / "a.predictor")
    ranker.observe(frame.iloc[:0])
    assert list(loaded.score(FRAME)) == list(ranker.score(FRAME))


def test_for_cpus_it_trains_predictors_of_kinds_of_machines(training, unseen, tmp_path):
    ranker = create_ranker("adaptive").fit(*training)
    assert ranker.prior_.name == "cpu"
    save(ranker, tmp_path / "a.predictor")
    loaded = load(tmp_path / "a.predictor")
    assert loaded.prior_.name == "cpu"
    assert list(loaded.score(unseen)) == list(ranker.score(unseen))
    assert list(ranker.score(unseen)) != list(create_ranker("adaptive").score(unseen))


def test_it_starts_from_a_file_but_is_neither_trained_nor_saved_with_it(training, unseen, tmp_path):
    path = tmp_path / "a.predictor"
    save(create_ranker("shuffle", seed=3), path)
    ranker = create_ranker("adaptive", prior=str(path), explore=0)
    assert list(order(ranker, unseen)) == list(order(load(path), unseen))
    save(create_ranker("shuffle", seed=4), path)  # by the next batch
    assert list(order(ranker, unseen)) != list(order(load(path), unseen))
    for use in (lambda: ranker.fit(*training), lambda: save(ranker, tmp_path / "b")):
        with pytest.raises(InputError, match=r"file '.*' as prior can only be used as it is"):
            use()
    assert list(tmp_path.iterdir()) == [path]
