"""Cases of which more than a uniform sample was measured, out of the queue that tuning uses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from frontrunner.benchmarks.measuring import Outcome
from frontrunner.experiments.dataset import Provenance, Recording, SampledFrom
from frontrunner.experiments.evaluation.full_queue import FullQueue, unmeasured_features
from frontrunner.experiments.evaluation.metrics import CaseReference, expected_metrics
from frontrunner.experiments.evaluation.replay import replay
from frontrunner.experiments.learning import Case, read_cases
from frontrunner.experiments.queue import sample_with_features
from frontrunner.models import Ranker, Scores, create_ranker, order
from frontrunner.search import PIPELINE, Dispatch, build_spaces
from frontrunner.search.reading import read_dispatch

POOL, UNIFORM, TOP = 400, 40, 10
# It breaks rules: a workgroup computes one element, by no vector.
DEFAULT = dict.fromkeys("dist_m cache_m vec_m dist_n cache_n vec_n vec_k peel".split(), 1)
DEFAULT |= {"cache_k": 32}
RANKER = create_ranker("heuristic")


@pytest.fixture(scope="module")
def dispatch() -> Dispatch:
    read = read_dispatch(Path(__file__).parents[2] / "data" / "matmul.mlir")
    return replace(read, default="")  # recordings do not hold it


@pytest.fixture(scope="module")
def pool(dispatch: Dispatch) -> tuple[pd.DataFrame, pd.DataFrame]:
    return sample_with_features(build_spaces(dispatch), POOL, seed=7)


@pytest.fixture(scope="module")
def case(
    dispatch: Dispatch,
    pool: tuple[pd.DataFrame, pd.DataFrame],
    tmp_path_factory: pytest.TempPathFactory,
) -> Case:
    """Each eighth candidate of the order, from the fifth on; the last of them are the fastest."""
    candidates, features = pool
    best_first = order(RANKER, features)[4 :: POOL // (UNIFORM + TOP)]
    origins = ["uniform"] * UNIFORM + ["top:heuristic"] * TOP
    queue = candidates.iloc[best_first].assign(origin=origins)
    times = np.linspace(2.0, 1.0, len(queue))
    outcomes = {
        i: Outcome("ok", t, 2.0, executable=str(i), device="local-task", compile_s=0.1)
        for i, t in enumerate(times)
    }
    about = Provenance(
        problem=dispatch.problem,
        target=dispatch.target,
        devices={"local-task": "local-task on a chip"},
        compiler="3",
        runtime="3",
        seed=7,
        noise_floor=None,
        created_by="frontrunner 0",
        drawn=SampledFrom(None, {}, pool=POOL, top=TOP, rankers={"heuristic": ""}),
    )
    path = tmp_path_factory.mktemp("recorded") / "a.parquet"
    Recording.build(queue.reset_index(drop=True), outcomes, about).write(path)
    (found,) = read_cases([path])
    return found


def test_only_uniform_rows_are_a_fair_random_order(case: Case) -> None:
    assert case.uniform is not None
    assert case.uniform.tolist() == [True] * UNIFORM + [False] * TOP
    scale = CaseReference.of(case.times, case.baseline_us, case.uniform)
    assert scale.best == pytest.approx(1.0)  # of all
    assert scale.candidates == UNIFORM
    assert scale.near[0.05] == 0
    assert scale.expected_iterations() == UNIFORM + 1
    assert scale.expected_log_iterations() == pytest.approx(np.log(UNIFORM + 1))
    expected = expected_metrics(scale, case.times[case.uniform], case.seconds[case.uniform])
    assert expected["best_of_64"] == pytest.approx(1 / case.times[case.uniform].min())
    assert expected["seconds"] == pytest.approx(case.seconds[case.uniform].sum())


def test_what_was_not_measured_is_skipped_and_counted(
    case: Case, pool: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    candidates, features = pool
    names = list(candidates)
    ordered = [tuple(row) for row in candidates.iloc[order(RANKER, features)].to_numpy()]
    measured = {tuple(row): i for i, row in enumerate(case.knobs[names].to_numpy())}
    # The order of those that tie with another one is open.
    _, counts = np.unique(RANKER.score(features), return_counts=True)
    known = np.unique(RANKER.score(features))[counts == 1]
    alone = np.isin(RANKER.score(case.features), known)
    assert PIPELINE in names
    places = [place for place, row in enumerate(ordered) if row in measured]
    found = FullQueue.of(RANKER, case)
    expected = [measured[ordered[place]] for place in places]
    assert alone.mean() > 0.5
    assert [r for r in expected if alone[r]] == [r for r in found.rows if alone[r]]
    skipped = [place - i for i, place in enumerate(places)]
    assert found.skipped.tolist() == pytest.approx(skipped, abs=8)  # the last ones tie with others
    replayed = replay(RANKER, case)
    assert replayed.rows.tolist() == found.rows.tolist()
    assert replayed.skipped.tolist() == found.skipped.tolist()


class Indifferent(Ranker):
    """Ranks all alike."""

    def score(self, frame: pd.DataFrame) -> Scores:
        return np.zeros(len(frame))


def test_what_was_not_measured_is_not_last_where_ranks_tie(case: Case) -> None:
    found = FullQueue.of(Indifferent(), case)
    assert found.rows.tolist() == list(range(len(case.times)))
    assert found.skipped[0] < found.skipped[-1]
    middle = (POOL - len(case.times)) / 2
    assert 0.8 * middle < found.skipped.mean() < 1.2 * middle


def test_a_ranker_that_looks_back_chooses_among_what_was_measured(case: Case) -> None:
    for name in ("adaptive", "genetic"):
        replayed = replay(create_ranker(name), case)
        assert sorted(replayed.rows) == list(range(len(case.times)))
        assert np.isnan(replayed.skipped).all()


def test_a_uniform_sample_alone_is_judged_by_itself(case: Case) -> None:
    alone = replace(case, uniform=None)
    assert unmeasured_features(alone) is None
    assert np.isnan(FullQueue.of(RANKER, alone).skipped).all()


def test_the_default_is_in_the_space_that_the_queue_is_drawn_from(
    case: Case, dispatch: Dispatch
) -> None:
    """It admits candidates like it, which else break rules, so that other ones are drawn."""
    (space,) = build_spaces(dispatch)
    assert not space.allows(DEFAULT)
    given = replace(dispatch, default=space.render(DEFAULT))
    candidates, features = sample_with_features(build_spaces(given), POOL, seed=7)
    (place,) = np.flatnonzero((candidates[[*DEFAULT]] == pd.Series(DEFAULT)).all(axis=1))
    taken = [place, *range(UNIFORM)]
    recorded = replace(case, knobs=candidates.iloc[taken], default=0)
    left = unmeasured_features(recorded)
    assert left is not None
    pd.testing.assert_frame_equal(left, features.drop(index=taken))
