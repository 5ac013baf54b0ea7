"""The rankers that search over knobs: baselines, which must be worth comparing with."""

from __future__ import annotations

import sys
from itertools import product

import numpy as np
import pandas as pd
import pytest

from frontrunner.core.errors import InputError
from frontrunner.models import create_ranker, order, ranker_class
from frontrunner.models.knobs.knob_ranker import Grid

KNOBS = pd.DataFrame(
    list(product([16, 32, 64, 128], [1, 2, 4, 8, 16], [1, 2, 4, 8], ["a", "b"], [1, 2, 3, 5, 7])),
    columns=["block_x", "block_y", "tile", "layout", "stride"],
)
# One valley, a knob that matters in one place only, and candidates that fail.
_THREADS = KNOBS.block_x * KNOBS.block_y
TIMES = (
    100
    + 30 * np.abs(np.log2(_THREADS / 256)) ** 1.5
    + 25 * np.abs(np.log2(KNOBS.tile) - 2)
    + 4 * KNOBS.stride * (1 + (KNOBS.layout == "a"))
    + 8 * np.abs(np.log2(KNOBS.block_y) - 3)
).to_numpy(dtype=np.float64, copy=True)
TIMES[(_THREADS > 1024).to_numpy()] = np.nan
NEAR = 1.05 * np.nanmin(TIMES) >= TIMES
SHUFFLE = (len(TIMES) + 1) / (NEAR.sum() + 1)

NAMES = ["tpe", "genetic"]


def measured(rows, times=TIMES) -> pd.DataFrame:
    return KNOBS.iloc[rows].assign(time_us=times[rows])


def after(name, rows, times=TIMES, **params) -> np.ndarray:
    """The rows that come next, once some were measured."""
    left = np.setdiff1d(np.arange(len(KNOBS)), rows)
    ranker = create_ranker(name, **params).observe(measured(rows, times))
    return left[order(ranker, KNOBS.iloc[left])][: ranker.batch]


def search(ranker, most=400) -> list[int]:
    """The rows that are taken until a near-optimal one is among them."""
    taken: list[int] = []
    while len(taken) < most and not NEAR[taken].any():
        left = np.setdiff1d(np.arange(len(TIMES)), taken)
        ranker.observe(measured(taken))
        taken += [int(i) for i in left[order(ranker, KNOBS.iloc[left])][: ranker.batch]]
    return taken


def some(count, seed=0) -> np.ndarray:
    return np.random.default_rng(seed).permutation(np.flatnonzero(~NEAR))[:count]


def test_a_grid_has_the_knobs_that_vary_in_the_order_of_their_values():
    words = pd.Series(["b", None, "a"], dtype="string")
    frame = pd.DataFrame({"n": [8, 2, 32], "one": [5, 5, 5], "w": words}).set_index([[7, 7, 7]])
    grid = Grid.of(frame)
    assert grid.points.tolist() == [[1, 1], [0, 2], [2, 0]]
    assert grid.sizes.tolist() == [3, 3]


def test_the_nearest_differs_in_few_knobs_then_by_little():
    grid = Grid(np.array([[0, 0], [3, 3], [0, 3], [1, 1]]), np.array([4, 4]))
    assert grid.nearest(np.array([0, 0]), np.arange(4)) == 0
    assert grid.nearest(np.array([0, 0]), np.arange(1, 4)) == 2
    assert grid.nearest(np.array([2, 2]), np.array([0, 1, 3])) == 1
    assert grid.nearest(np.array([0, 2]), np.array([0, 3])) == 0


@pytest.mark.parametrize("name", NAMES)
class TestSearch:
    def test_it_beats_shuffle(self, name):
        found = [len(search(create_ranker(name, seed=seed))) for seed in range(3)]
        assert SHUFFLE > 100
        assert np.mean(found) < SHUFFLE / 2

    def test_it_starts_by_lot(self, name):
        first = [tuple(after(name, [], seed=seed, batch=8)) for seed in range(3)]
        assert len(set(first)) == 3
        assert first[0] == tuple(after(name, [], seed=0, batch=8))

    def test_scores_are_an_order_of_all(self, name):
        rows = some(40)
        left = KNOBS.drop(index=rows)
        assert sorted(create_ranker(name).observe(measured(rows)).score(left)) == list(
            range(len(left))
        )

    def test_a_resumed_search_takes_the_same_order(self, name):
        """What is next depends on what was measured, not on when it was told."""
        ranker = create_ranker(name, seed=3)
        taken = search(ranker, most=30)
        ranker.observe(measured(taken))
        left = KNOBS.drop(index=taken)
        again = create_ranker(name, seed=3).observe(measured(taken))
        assert list(ranker.score(left)) == list(again.score(left))

    def test_another_search_starts_anew(self, name):
        ranker = create_ranker(name, seed=3)
        taken = search(ranker)
        assert search(ranker) == taken
        rows, left = taken[:25], KNOBS.drop(index=taken[:25])
        other = measured(rows, TIMES[::-1])
        fresh = create_ranker(name, seed=3).observe(other)
        assert list(ranker.observe(other).score(left)) == list(fresh.score(left))

    def test_it_goes_for_what_was_fast(self, name):
        times = np.where(KNOBS.tile == 4, 1.0, 2.0)
        tiles = KNOBS.tile.iloc[after(name, some(40), times, batch=20)]
        assert (tiles == 4).mean() > 0.5

    def test_it_avoids_what_failed(self, name):
        times = np.where(KNOBS.tile == 4, 1.0, np.nan)
        tiles = KNOBS.tile.iloc[after(name, some(40), times, batch=20)]
        assert (tiles == 4).mean() > 0.5

    def test_nothing_but_failures(self, name):
        assert len(after(name, some(40), np.full(len(KNOBS), np.nan))) > 0

    def test_the_last_ones_are_taken_too(self, name):
        rows = np.arange(len(KNOBS) - 3)
        assert sorted(after(name, rows, batch=8)) == list(range(len(KNOBS) - 3, len(KNOBS)))

    def test_candidates_that_are_all_alike(self, name):
        frame = pd.DataFrame({"a": [1] * 50})
        ranker = create_ranker(name).observe(frame.iloc[:30].assign(time_us=1.0))
        assert sorted(ranker.score(frame.iloc[30:])) == list(range(20))


def test_children_have_their_knobs_from_parents():
    """The last generation and the best ones before it, whatever else was measured."""
    rows = some(60)
    best = rows[np.argsort(np.nan_to_num(TIMES[rows], nan=np.inf))[:2]]
    parents = KNOBS.iloc[np.union1d(rows[-8:], best)]
    children = KNOBS.iloc[after("genetic", rows, batch=8, mutation=0.0)]
    inherited = np.array([children[knob].isin(parents[knob]) for knob in KNOBS])
    assert inherited.mean() > 0.9


def test_mutants_are_any_neighbours_of_children():
    """The parents differ in one knob only, so that children without mutation are measured."""
    found = {
        mutation: {
            int(row)
            for seed in range(8)
            for row in after("genetic", [0, 1], seed=seed, batch=2, mutation=mutation)
        }
        for mutation in (0.0, 1.0)
    }
    assert len(found[0.0]) < 5 < len(found[1.0])
    apart = KNOBS.to_numpy()[list(found[1.0]), None] != KNOBS.to_numpy()[:2]
    assert (apart.sum(axis=2).min(axis=1) == 1).all()


def test_optuna_is_silent(capfd):
    after("tpe", some(20))
    assert capfd.readouterr() == ("", "")


def test_without_optuna_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    monkeypatch.delitem(sys.modules, "frontrunner.models.knobs.tpe", raising=False)
    with pytest.raises(InputError, match="ranker 'tpe' needs Optuna, which is not") as caught:
        ranker_class("tpe")
    assert caught.value.hint == "pip install '.[baselines]' in the folder of frontrunner's source"
    assert create_ranker("genetic").name == "genetic"
