"""What comes next in a tuning run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from frontrunner.benchmarks.measuring.outcome import COMPILE_FAILED, KILLED, OK, Outcome
from frontrunner.experiments.queue import ordering
from frontrunner.experiments.queue.candidates import make_queue
from frontrunner.experiments.queue.ordering import AdaptiveOrder, QueueOrder
from frontrunner.models import AdaptiveRanker, resolve_ranker
from frontrunner.search.reading import read_dispatch

DATA = Path(__file__).parents[2] / "data"


class Recorder(AdaptiveRanker):
    """Remembers what it was shown; likes what is last."""

    name = "recorder"
    batch = 4

    def observe(self, measured):
        self.seen = measured
        return self

    def score(self, frame):
        return -frame.index.to_numpy(dtype=float)


def outcomes(*positions) -> dict[int, Outcome]:
    return {i: Outcome(OK, time_us=10.0 + i, baseline_us=20.0) for i in positions}


def test_a_queue_is_taken_from_its_head_and_gaps_are_filled():
    assert QueueOrder(6).next({}, 3) == [0, 1, 2]
    assert QueueOrder(6).next(outcomes(0, 2), 3) == [1, 3, 4]
    assert QueueOrder(6).next(outcomes(*range(5)), 3) == [5]
    assert QueueOrder(6).next(outcomes(*range(6)), 3) == []


def test_what_was_taken_and_not_run_is_taken_again_first():
    order = QueueOrder(8)
    assert order.next({}, 3) == [0, 1, 2]
    assert order.next(outcomes(1), 2, in_flight=[0, 2]) == [3, 4]
    assert order.next(outcomes(1, 4), 3) == [0, 2, 3]
    assert order.next(outcomes(0, 1, 2, 4, 5), 8) == [3, 6, 7]
    assert order.next(outcomes(*range(8)), 1) == []


class TestAdaptive:
    @pytest.fixture
    def features(self):
        return pd.DataFrame({"a": np.arange(10.0)}, index=range(10))

    def test_the_ranker_says_what_is_next(self, features):
        assert AdaptiveOrder(Recorder(), features, 12).next({}, 4) == [9, 8, 7, 6]
        assert AdaptiveOrder(Recorder(), features, 12).batch == Recorder.batch
        assert AdaptiveOrder(Recorder(), features, 12).next(outcomes(8), 2) == [9, 7]

    def test_it_sees_the_outcomes_as_they_were_taken(self, features):
        ranker = Recorder()
        known = {**outcomes(7, 2), 5: Outcome(COMPILE_FAILED)}
        AdaptiveOrder(ranker, features, 12).next(known, 4)
        assert list(ranker.seen.index) == [7, 2, 5]
        assert list(ranker.seen["time_us"][:2]) == [17 / 20, 12 / 20]
        assert np.isnan(ranker.seen["time_us"][5])

    def test_what_was_killed_is_taken_and_not_seen(self, features):
        ranker = Recorder()
        known = {**outcomes(7), 9: Outcome(KILLED), 2: Outcome(COMPILE_FAILED)}
        assert AdaptiveOrder(ranker, features, 12).next(known, 2) == [8, 6]
        assert list(ranker.seen.index) == [7, 2]

    def test_what_it_does_not_choose_from_comes_last(self, features):
        order = AdaptiveOrder(Recorder(), features, 12)
        assert order.next(outcomes(*range(9)), 4) == [9]
        assert order.next(outcomes(*range(10)), 4) == [10, 11]
        assert order.next(outcomes(*range(11)), 4) == [11]


def test_a_ranker_that_reads_knobs_is_shown_them():
    dispatch = read_dispatch(DATA / "matmul.mlir")
    ranker = resolve_ranker("genetic", seed=1)
    queue = make_queue(dispatch, ranker, pool=60, seed=1)
    order = AdaptiveOrder.for_queue(queue, dispatch, ranker, seed=1)
    pd.testing.assert_frame_equal(order.features, queue)
    known: dict[int, Outcome] = {}
    while len(known) < len(queue):
        taken = order.next(known, 8)
        assert taken and not set(taken) & set(known)
        known |= outcomes(*taken)


def test_of_a_long_queue_a_head_and_lots_are_chosen(monkeypatch):
    monkeypatch.setattr(ordering, "HEAD", 16)
    dispatch = read_dispatch(DATA / "matmul.mlir")
    ranker = resolve_ranker("adaptive", seed=1)
    queue = make_queue(dispatch, ranker, pool=200, seed=1)
    order = AdaptiveOrder.for_queue(queue, dispatch, ranker, seed=1)
    positions = list(order.features.index)
    assert positions[:16] == list(range(16))
    assert len(positions) == 32 and min(positions[16:]) >= 16 and len(set(positions)) == 32
    assert order.features.notna().all().all()
    # Nothing measured yet: what the queue began with, but for lots.
    assert set(order.next({}, 8)[:6]) <= set(range(16))
    known = outcomes(*range(8))
    following = order.next(known, 8)
    assert len(following) == 8 and not set(following) & set(known)
    assert following == AdaptiveOrder.for_queue(queue, dispatch, ranker, seed=1).next(known, 8)


@pytest.mark.parametrize(
    ("pending", "imputed"), [("nothing", {}), ("worst", {7: 19 / 20, 5: 19 / 20})]
)
def test_what_is_being_measured_is_not_taken_again(pending, imputed):
    """Nor is it forgotten: the ranker is told what is imputed to it."""
    ranker = Recorder()
    order = AdaptiveOrder(ranker, pd.DataFrame({"a": np.arange(10.0)}), 12, pending)
    assert order.next(outcomes(8, 9), 3, in_flight=[7, 5]) == [6, 4, 3]
    assert ranker.seen["time_us"].to_dict() == {8: 18 / 20, 9: 19 / 20, **imputed}
    assert order.next(outcomes(*range(8)), 4, in_flight=[8, 9]) == [10, 11]
    assert QueueOrder(6).next(outcomes(0), 3, in_flight=[1, 3]) == [2, 4, 5]


# Prints the queue of a dispatch.
QUEUE = """
import sys
from pathlib import Path
from frontrunner.experiments.queue import make_queue
from frontrunner.models import resolve_ranker
from frontrunner.search.reading import read_dispatch

dispatch = read_dispatch(Path(sys.argv[1]), "znver4")
for name in ("cpu", "shuffle"):
    print(make_queue(dispatch, resolve_ranker(name, seed=3), pool=200, seed=3).to_csv())
"""


@pytest.mark.slow
def test_the_queue_does_not_depend_on_how_strings_hash():
    said = {
        subprocess.run(
            [sys.executable, "-c", QUEUE, str(DATA / "matmul.mlir")],
            env=os.environ | {"PYTHONHASHSEED": seed},
            text=True,
            check=True,
            capture_output=True,
        ).stdout
        for seed in "01"
    }
    assert len(said) == 1
    assert "dist_m" in said.pop()
