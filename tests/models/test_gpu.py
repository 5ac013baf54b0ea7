"""Rankers that learn, on GPU candidates: the catalogue is the frame's, and is remembered."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from frontrunner.core.errors import InputError
from frontrunner.features import extract
from frontrunner.features.cpu import CPU
from frontrunner.features.gpu import GPU
from frontrunner.models import create_ranker, load, order, save

LEARNERS = [("forest", {"trees": 20}), ("lightgbm", {"rounds": 30})]
each_learner = pytest.mark.parametrize(("name", "params"), LEARNERS, ids=[n for n, _ in LEARNERS])


@pytest.fixture(scope="module")
def recorded(samples):
    """Candidates of three problems, with times of a made-up GPU."""
    frames = []
    for name in ("large", "odd", "bytes"):
        problem, target = samples.GPU_PROBLEMS[name]
        f = extract(problem, target, samples.gpu_candidates(problem, target, 150))
        cost = f["wave_waste"] + f["fragment_loads"] + 4 * np.maximum(f["register_share"] - 0.5, 0)
        time = np.where(
            f["uneven_vector_distribute"] > 1, np.nan, np.exp(cost.to_numpy(np.float64))
        )
        frames.append(f.assign(time_us=time, problem=name))
    return pd.concat(frames, ignore_index=True)


@each_learner
def test_learns_from_gpu_features(name, params, recorded):
    ranker = create_ranker(name, **params).fit(recorded, recorded["problem"])
    assert ranker.catalogue_ is GPU
    new = recorded[recorded["problem"] == "odd"]
    first = new["time_us"].to_numpy()[order(ranker, new)[:15]]
    assert np.nanmax(first) < new["time_us"].median()


@each_learner
def test_saved_and_loaded_it_scores_the_same(name, params, recorded, tmp_path):
    ranker = create_ranker(name, **params).fit(recorded, recorded["problem"])
    save(ranker, tmp_path / "gpu.zip")
    loaded = load(tmp_path / "gpu.zip")
    assert loaded.catalogue_ is GPU
    np.testing.assert_array_equal(loaded.score(recorded), ranker.score(recorded))


@each_learner
def test_may_be_trained_again_for_the_other_kind(name, params, recorded, training):
    ranker = create_ranker(name, **params).fit(*training)
    assert ranker.catalogue_ is CPU
    assert ranker.fit(recorded, recorded["problem"]).catalogue_ is GPU
    assert len(ranker.score(recorded)) == len(recorded)


@each_learner
def test_orders_no_candidates_of_the_other_kind(name, params, recorded, training):
    ranker = create_ranker(name, **params).fit(recorded, recorded["problem"])
    with pytest.raises(InputError, match="for GPUs, and these are for CPUs") as caught:
        ranker.score(training[0])
    assert "'heuristic'" in caught.value.hint


def test_the_shipped_ranker_orders_no_gpu_candidates(recorded):
    with pytest.raises(InputError, match="'cpu' orders candidates for CPUs, and these are for GPU"):
        create_ranker("cpu").score(recorded)


@each_learner
def test_missing_features_are_named(name, params, recorded):
    with pytest.raises(InputError, match=f"'{name}' needs features.*tile_k_pow2"):
        create_ranker(name, **params).fit(recorded.drop(columns="tile_k_pow2"), recorded["problem"])


@each_learner
def test_both_kinds_at_once_are_refused(name, params, recorded, training):
    both = pd.concat([recorded, training[0]], ignore_index=True)
    with pytest.raises(InputError, match="candidates of different kinds of targets"):
        create_ranker(name, **params).fit(both, np.zeros(len(both)))


def test_short_runs_count_where_sectors_are_fetched_too(samples):
    """NVIDIA fetches 32 bytes of a line, all of which are used, and looks up the whole line."""
    problem, target = samples.GPU_PROBLEMS["strided"]
    found = extract(problem, target, samples.gpu_candidates(problem, target, 150))
    short = (found["run_lhs_log2"] < 7) & (found["line_use_lhs"] == 1)
    terms = create_ranker("heuristic").explain(found)
    assert short.sum() > 5
    assert (terms["wasted_lines"][short] > 0).all()
