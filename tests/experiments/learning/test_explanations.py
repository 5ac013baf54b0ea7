"""Explanations: they add up, are of the candidate asked for, and of nothing that is not there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frontrunner.core import InputError
from frontrunner.experiments.dataset import Recording, read_recording
from frontrunner.experiments.learning.cases import read_cases, training_frame
from frontrunner.experiments.learning.explanations import (
    CandidateSelection,
    Explanation,
    Score,
    explain,
)
from frontrunner.experiments.learning.pool import CandidatePool
from frontrunner.experiments.queue.candidates import make_queue
from frontrunner.features import CPU
from frontrunner.models import Ranker, create_ranker, order
from frontrunner.models.heuristic import CPU_TERMS
from frontrunner.search import Dispatch
from frontrunner.search.reading import read_dispatch

DATA = Path(__file__).parents[2] / "data"
SIZE = 300


@pytest.fixture(scope="module")
def dispatch() -> Dispatch:
    return read_dispatch(DATA / "matmul.mlir")


@pytest.fixture(scope="module")
def space(dispatch: Dispatch) -> CandidatePool:
    return CandidatePool.of_dispatch(dispatch, SIZE, seed=0)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory, record_sample: Callable[..., Path]) -> Path:
    return record_sample(tmp_path_factory.mktemp("recorded") / "odd.parquet", "odd")


@pytest.fixture(scope="module")
def recorded(path: Path) -> CandidatePool:
    return CandidatePool.of_recording(path)


@pytest.fixture(scope="module")
def learned(path: Path) -> Ranker:
    return create_ranker("lightgbm", rounds=10).fit(*training_frame(read_cases([path])))


def one(ranker: Ranker, pool: CandidatePool, **choice: Any) -> Explanation:
    (found,) = explain(ranker, pool, CandidateSelection(**choice))
    return found


def check_sum(score: Score) -> None:
    total = score.base + sum(share.adds for share in score.shares)
    assert total == pytest.approx(score.score, abs=1e-12)
    sizes = [abs(share.adds) for share in score.shares]
    assert sizes == sorted(sizes, reverse=True)
    assert all(share.text for share in score.shares)


def test_a_candidate_of_a_dispatch_is_where_tune_takes_it(
    dispatch: Dispatch, space: CandidatePool
) -> None:
    ranker = create_ranker("heuristic")
    queue = make_queue(dispatch, ranker, pool=SIZE, seed=0)
    for position in (1, 7, SIZE):
        found = one(ranker, space, position=position)
        assert (found.position, found.candidates) == (position, SIZE)
        row = queue.iloc[position - 1]
        assert found.pipeline == row["pipeline"]
        assert found.knobs == row.drop("pipeline").to_dict()
        assert (found.row, found.time_us, found.place) == (None, None, None)


def test_a_recorded_candidate_comes_with_its_time(recorded: CandidatePool, learned: Ranker) -> None:
    scores = learned.score(recorded.features)
    for row in (0, 1, 20):
        found = one(learned, recorded, row=row)
        assert found.row == row
        assert found.score.score == pytest.approx(scores[row])
        assert recorded.candidates["vec_n"].iloc[row] == found.knobs["vec_n"]
        check_sum(found.score)
        if row % 9 == 0:
            assert (found.time_us, found.place) == (None, None)
        else:
            assert found.time_us == recorded.times[row]
            assert found.place == 1 + (recorded.times < recorded.times[row]).sum()
    assert order(learned, recorded.features)[found.position - 1] == 20


def test_a_row_is_that_of_the_file_where_one_was_killed(path: Path, tmp_path: Path) -> None:
    whole = read_recording(path)
    frame, ran = whole.frame.copy(), {"time_us": np.nan, "relative": np.nan, "measurements": 0}
    frame.loc[3, ["kind", *ran]] = ["killed", *ran.values()]
    Recording(frame, whole.provenance).write(tmp_path / "killed.parquet")
    pool, ranker = CandidatePool.of_recording(tmp_path / "killed.parquet"), create_ranker("cpu")
    found = one(ranker, pool, row=20)
    assert (found.row, found.candidates, found.time_us) == (20, 59, frame["time_us"][20])
    assert found.knobs["vec_n"] == frame["vec_n"][20]
    assert one(ranker, pool, row=59).row == 59
    assert 3 not in {e.row for e in explain(ranker, pool, CandidateSelection(top=60))}
    with pytest.raises(InputError, match="no row 3, or it was killed from outside"):
        one(ranker, pool, row=3)


def test_values_and_meanings_are_those_of_features(
    recorded: CandidatePool, learned: Ranker
) -> None:
    found = one(learned, recorded, row=3)
    share = found.score.shares[0]
    assert share.values == {share.name: float(recorded.features[share.name].iloc[3])}
    assert len(found.score.shares) == recorded.features.shape[1]


def test_the_heuristic_is_explained_by_its_terms(recorded: CandidatePool) -> None:
    score = one(create_ranker("heuristic"), recorded, row=3).score
    check_sum(score)
    known = {term.name: term for term in CPU_TERMS}
    assert {share.name for share in score.shares} == set(known)
    for share in score.shares:
        assert share.text == known[share.name].reason
        assert tuple(share.values) == known[share.name].features


def test_the_shipped_order_is_explained_by_features(recorded: CandidatePool) -> None:
    ranker = create_ranker("cpu")
    found = one(ranker, recorded, row=3)
    check_sum(found.score)
    assert found.score.score == pytest.approx(ranker.score(recorded.features)[3])
    assert {share.name for share in found.score.shares} == set(CPU.names)


def test_the_first_few(recorded: CandidatePool) -> None:
    ranker = create_ranker("heuristic")
    found = explain(ranker, recorded, CandidateSelection(top=3))
    assert [e.position for e in found] == [1, 2, 3]
    assert [e.row for e in found] == order(ranker, recorded.features)[:3].tolist()
    assert len(explain(ranker, recorded, CandidateSelection(top=1000))) == 60


def test_recorded_candidates_are_chosen_by_knobs(recorded: CandidatePool) -> None:
    ranker = create_ranker("heuristic")
    knobs = recorded.knobs(5)
    some = {"vec_n": str(knobs["vec_n"]), "peel": str(knobs["peel"])}
    frame = recorded.candidates
    able = np.flatnonzero((frame["vec_n"] == knobs["vec_n"]) & (frame["peel"] == knobs["peel"]))
    first = next(row for row in order(ranker, recorded.features) if row in able)
    assert one(ranker, recorded, knobs=some).row == first
    exact = {name: str(value) for name, value in knobs.items()}
    assert one(ranker, recorded, knobs=exact).row == 5


def test_any_candidate_of_a_space_is_chosen_by_knobs(
    dispatch: Dispatch, space: CandidatePool
) -> None:
    """Also one that the sample does not hold."""
    ranker = create_ranker("heuristic")
    outside = CandidatePool.of_dispatch(dispatch, SIZE, seed=1).knobs(0)
    inside = space.knobs(4)
    for knobs, candidates in ((outside, SIZE + 1), (inside, SIZE)):
        found = one(ranker, space, knobs={name: str(value) for name, value in knobs.items()})
        assert found.knobs == knobs
        assert found.candidates == candidates
    free = {name: str(outside[name]) for name in ("vec_n", "dist_n")}
    best = one(ranker, space, knobs=free)
    assert {name: str(best.knobs[name]) for name in free} == free
    all_of_it = one(ranker, space, knobs={name: str(value) for name, value in outside.items()})
    assert best.position <= all_of_it.position


@pytest.mark.parametrize(
    ("choice", "message", "hint"),
    [
        ({"position": SIZE + 1}, f"no candidate {SIZE + 1}", f"last one in the order is {SIZE}"),
        ({"knobs": {"vec_q": "1"}}, "no knob 'vec_q'", "there are: .*vec_n"),
        ({"knobs": {"vec_n": "3000"}}, "knob vec_n cannot be '3000'", "it takes: 1, 2"),
        ({"knobs": {"vec_n": "x"}}, "knob vec_n cannot be 'x'", "it takes: 1, 2"),
        ({"knobs": {"dist_n": "1", "vec_n": "2"}}, "no candidate has dist_n=1 vec_n=2", "--limit"),
    ],
)
def test_what_a_space_does_not_hold(
    choice: dict[str, Any], message: str, hint: str, space: CandidatePool
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        one(create_ranker("heuristic"), space, **choice)
    assert re.search(hint, caught.value.hint)


def test_constraints_that_keep_a_candidate_out_are_named(space: CandidatePool) -> None:
    knobs = {name: str(value) for name, value in space.knobs(0).items()}
    (built,) = space.spaces
    largest = {k.name: str(k.values[-1]) for k in built.knobs}
    with pytest.raises(InputError) as caught:
        one(create_ranker("heuristic"), space, knobs=knobs | largest)
    reasons = [c.reason for c in built.constraints if c.reason in str(caught.value)]
    assert reasons


@pytest.mark.parametrize(
    ("choice", "message", "hint"),
    [
        ({"row": 60}, "no row 60", "last one is 59"),
        ({"position": 61}, "no candidate 61", "the order is 60"),
        ({"knobs": {"vec_q": "1"}}, "no knob 'vec_q'", "there are: "),
        ({"knobs": {"vec_n": "999"}}, "no candidate has vec_n=999", "vec_n is one of: "),
    ],
)
def test_what_a_recording_does_not_hold(
    choice: dict[str, Any], message: str, hint: str, recorded: CandidatePool
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        one(create_ranker("heuristic"), recorded, **choice)
    assert hint in caught.value.hint


def test_knobs_that_never_go_together(recorded: CandidatePool) -> None:
    first, second = recorded.knobs(0), recorded.knobs(1)
    mixed = {name: str(first[name]) for name in first} | {"vec_n": str(second["vec_n"])}
    with pytest.raises(InputError, match="no candidate has") as caught:
        one(create_ranker("heuristic"), recorded, knobs=mixed)
    assert caught.value.hint == "set fewer"


def test_an_order_without_reasons(recorded: CandidatePool) -> None:
    with pytest.raises(InputError, match="'shuffle' has nothing to explain"):
        one(create_ranker("shuffle"), recorded, position=1)


def test_other_peoples_kernels(tmp_path: Path) -> None:
    """Their knobs may be words or flags, and their features are the knobs."""

    def write(name: str, *layouts: str) -> Path:
        results = [
            {
                "configuration": {"layout": layout, "block": block, "pad": block > 2},
                "times": {"compilation": 1, "runtimes": [1]},
                "invalidity": "correct",
                "correctness": 1,
                "measurements": [{"name": "time", "value": block + len(layout)}],
            }
            for block in range(1, 12)
            for layout in layouts
        ]
        path = tmp_path / name
        path.write_text(json.dumps({"results": results}))
        return path

    # What is explained need not have all words that were learned from.
    trained = read_cases([write("kernel_A100_T4.json", "NCHW", "NHW", "C")])
    pool = CandidatePool.of_recording(write("kernel_A4000_T4.json", "NCHW", "NHW"))
    assert (pool.ranker, pool.arch) == ("", "")
    ranker = create_ranker("forest", trees=5, min_leaf=1).fit(*training_frame(trained))
    found = one(ranker, pool, knobs={"layout": "NHW", "pad": "True", "block": "5"})
    assert found.knobs == {"layout": "NHW", "pad": True, "block": 5}
    assert found.time_us == 8000
    check_sum(found.score)


def test_a_row_is_that_of_the_file_where_rows_were_sorted_by_time(tmp_path: Path) -> None:
    """They are shuffled when they are read."""
    path = tmp_path / "kernel.csv"
    path.write_text("block,compute_time\n" + "".join(f"{i},{i + 1}\n" for i in range(40)))
    pool = CandidatePool.of_recording(path)
    cases = read_cases([path])
    ranker = create_ranker("forest", trees=3, min_leaf=1).fit(*training_frame(cases))
    assert cases[0].recording.frame["index"].tolist() != list(range(40))
    for row in (0, 7, 39):
        assert one(ranker, pool, row=row).knobs == {"block": row}


def test_a_folder_of_several_recordings_is_refused(tmp_path: Path, record_sample: Any) -> None:
    for seed, name in enumerate("ab"):
        record_sample(tmp_path / f"{name}.parquet", "odd", seed=seed)
    with pytest.raises(InputError, match="holds 2 recordings"):
        CandidatePool.of_recording(tmp_path)
