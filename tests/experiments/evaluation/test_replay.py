"""Replaying recordings: what rankers take, in which order, and what they are told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from frontrunner.benchmarks.measuring import Outcome, RunFailed, finals_error
from frontrunner.benchmarks.runners import ReplayRunner
from frontrunner.core import InputError
from frontrunner.experiments.dataset.recording import Provenance, Recording
from frontrunner.experiments.evaluation.replay import replay
from frontrunner.experiments.learning.cases import Case
from frontrunner.models import AdaptiveRanker, Ranker
from frontrunner.search import Problem, Target

from ..recorded import recorded_outcomes

PROVENANCE = Provenance(
    problem=Problem("contraction", "linalg.matmul", (), ()),
    target=Target("llvm-cpu", "znver3", "host", 2, 32, 16, (1, 2, 3)),
    devices={"local-task": "a chip"},
    compiler="3.13.0",
    runtime="3.13.0",
    seed=3,
    noise_floor=None,
    created_by="frontrunner 0",
)
OUTCOMES = {
    4: Outcome("ok", 30.0, 20.0, executable="e", device="local-task", compile_s=1.5),
    7: Outcome("compile_failed", reason="no", stage="compile"),
}
QUEUE = pd.DataFrame({"tile": range(8), "pipeline": "p"})
# The first three rows are alike for who sees only `coarse`.
FEATURES = pd.DataFrame({"fine": [3.0, 1, 2, 5, 4], "coarse": [0.0, 0, 0, 1, 1]}, index=[9] * 5)
KNOBS = pd.DataFrame({"tile": [1, 2, 4, 8, 16], "layout": list("aabba")}, index=[9] * 5)
TIMES = np.array([30.0, np.nan, 20, 50, 40])


class By(Ranker):
    name = "by"

    def __init__(self, column: str) -> None:
        self.column = column

    def score(self, frame: pd.DataFrame) -> np.ndarray:
        return frame[self.column].to_numpy()


class Reverses(AdaptiveRanker):
    """Takes what is largest in the first column first; once it has seen a failure, last."""

    name = "reverses"

    def __init__(self, batch: int) -> None:
        self.batch = batch
        self.told: list[pd.DataFrame] = []

    def observe(self, measured: pd.DataFrame) -> Reverses:
        self.told.append(measured)
        return self

    def score(self, frame: pd.DataFrame) -> np.ndarray:
        first = frame.iloc[:, 0].to_numpy()
        return first if self.told[-1].time_us.isna().any() else -first


@pytest.fixture
def case() -> Case:
    recording = Recording.build(QUEUE, OUTCOMES, PROVENANCE)
    return Case("c", "p", "d", FEATURES, KNOBS, TIMES, np.ones(5), recording, baseline_us=20.0)


def test_an_order_that_does_not_change_is_taken_as_it_is(case):
    assert list(replay(By("fine"), case).rows) == [1, 2, 0, 4, 3]
    assert list(replay(By("coarse"), case).rows) == [0, 1, 2, 3, 4]
    assert len(replay(By("fine"), case, lambda taken: True).rows) == 5


def test_a_ranker_that_looks_back_is_told_what_it_took(case):
    case = replace(case, times=np.array([30.0, 20, 10, np.nan, 40]))
    ranker = Reverses(batch=2)
    assert list(replay(ranker, case).rows) == [3, 4, 1, 2, 0]
    # As in a tuning run: once for the queue, and then before each batch.
    assert [len(told) for told in ranker.told] == [0, 0, 2, 4]
    last = ranker.told[-1]
    assert list(last.fine) == [5, 4, 1, 2]
    # In units of the default's time, which took 20 us.
    assert list(last.time_us.fillna(-1)) == [-1, 2, 1, 0.5]


def test_it_is_shown_knobs_if_it_reads_them(case, monkeypatch):
    monkeypatch.setattr(Reverses, "reads_knobs", True)
    ranker = Reverses(batch=4)
    replay(ranker, case)
    assert list(ranker.told[-1]) == ["tile", "layout", "time_us"]
    assert list(ranker.told[-1].tile) == [16, 8, 4, 2]


def test_it_forgets_the_case_before(case):
    ranker = Reverses(batch=5)
    replay(ranker, case)
    replay(ranker, case)
    assert [len(told) for told in ranker.told] == [0, 0, 0, 0]


def test_it_stops_when_that_is_enough(case):
    seen = []

    def enough(taken: np.ndarray) -> bool:
        seen.append(list(taken))
        return len(taken) >= 3

    assert list(replay(Reverses(batch=2), case, enough).rows) == [3, 4, 0, 2]
    assert seen == [[], [50, 40], [50, 40, 30, 20]]


@pytest.fixture
def runner(case: Case) -> ReplayRunner:
    return ReplayRunner(recorded_outcomes(case.recording), {"local-task": 20.0}, noise_floor=0.01)


def test_a_runner_that_answers_from_a_recording(runner):
    found = dict(runner.run([7, 4]))
    assert found == OUTCOMES
    assert list(found) == [7, 4]
    assert runner.start({}) == {"local-task": 20.0}


def test_it_stops_when_it_is_told_to(runner):
    answers = iter([True, False])
    assert [index for index, _ in runner.run([4, 7], lambda: next(answers))] == [4]


def test_it_cannot_answer_for_what_was_not_recorded(runner):
    with pytest.raises(InputError, match="no outcome of candidate 5"):
        list(runner.run([5]))


def test_its_finals_are_what_was_recorded(runner):
    finals = runner.finals([4], OUTCOMES)
    (standing,) = finals.standings
    assert (standing.index, standing.speedup, standing.time_us) == (4, 20 / 30, 30.0)
    assert (finals.baseline_us, finals.noise_floor) == (20.0, 0.01)
    assert finals_error(finals, OUTCOMES) == ""
    runner.verify(4, "")
    with pytest.raises(RunFailed, match="no"):
        runner.verify(7, "")
