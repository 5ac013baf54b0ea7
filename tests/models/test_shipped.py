"""The default CPU ranker: predictors of kinds of machines that vote with the heuristic."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata

from frontrunner.core import InputError
from frontrunner.models import BASE, create_ranker, load, save

OWN = ["predictor 32B-16-512K", "predictor 64B-32-1024K"]
SHIPPED = [
    "shipped predictor 32B-16-512K",
    "shipped predictor 64B-32-1024K",
    "shipped predictor 64B-32-2048K",
]


@pytest.fixture(scope="module")
def two_machines(training):
    """Training data as of two machines; what is slow on one is fast on the other."""
    frame, groups = training
    zen3 = frame.assign(
        target_vector_log2=5.0, target_registers_log2=4.0, target_l2_log2=np.log2(512 << 10)
    )
    zen4 = zen3.assign(
        target_vector_log2=6.0,
        target_registers_log2=5.0,
        target_l2_log2=np.log2(1 << 20),
        time_us=1e6 / zen3["time_us"],
    )
    names = [*(f"{g} on zen3" for g in groups), *(f"{g} on zen4" for g in groups)]
    return pd.concat([zen3, zen4], ignore_index=True), np.array(names)


def log_places(part, frame):
    return np.log(rankdata(part.score(frame)))


def test_each_kind_of_machine_has_a_predictor_of_its_own(two_machines):
    frame, groups = two_machines
    ranker = create_ranker("cpu").fit(frame, groups)
    assert list(ranker.parts) == [*OWN, "heuristic"]
    half = len(frame) // 2
    for part, rows in zip(OWN, (slice(None, half), slice(half, None)), strict=True):
        alone = create_ranker("lightgbm").fit(frame.iloc[rows], groups[rows])
        np.testing.assert_array_equal(ranker.parts[part].score(frame), alone.score(frame))


@pytest.mark.parametrize("prior", [0.0, 0.5, 1.0])
def test_the_score_is_the_weighted_mean_of_log_places(prior, two_machines):
    frame, groups = two_machines
    ranker = create_ranker("cpu", prior=prior, trust=0.6).fit(frame, groups)
    shipped = SHIPPED if prior else []
    weights = dict.fromkeys(OWN, 0.6 * (1 - prior) / 2) | dict.fromkeys(shipped, 0.6 * prior / 3)
    weights["heuristic"] = 0.4
    assert set(ranker.parts) == set(weights)
    due = sum(w * log_places(ranker.parts[n], frame) for n, w in weights.items())
    np.testing.assert_allclose(ranker.score(frame), due)
    assert set(ranker.reasons(frame)) == set(weights)
    assert set(ranker.contributions(frame)) == {*weights, BASE}


def test_untrained_it_asks_the_predictors_that_ship_whatever_the_prior(two_machines):
    frame, _ = two_machines
    rankers = [create_ranker("cpu", prior=prior) for prior in (0.0, 0.5)]
    assert [list(r.parts) for r in rankers] == [[*SHIPPED, "heuristic"]] * 2
    np.testing.assert_array_equal(*(r.score(frame) for r in rankers))


def test_all_predictors_are_kept(two_machines, tmp_path):
    frame, groups = two_machines
    ranker = create_ranker("cpu", prior=0.25).fit(frame, groups)
    save(ranker, tmp_path / "cpu.predictor")
    loaded = load(tmp_path / "cpu.predictor")
    assert list(loaded.parts) == [*OWN, *SHIPPED, "heuristic"]
    np.testing.assert_array_equal(loaded.score(frame), ranker.score(frame))


@pytest.mark.parametrize("machine", ["\x1b[31mred", "../..", "64B-32-1024K/64B-32-1024K"])
def test_what_is_no_machine_is_refused(machine, two_machines):
    frame, groups = two_machines
    learned = create_ranker("cpu").fit(frame[:200], groups[:200]).dump()
    pieces = {f"{machine}/{path.rpartition('/')[2]}": data for path, data in learned.items()}
    with pytest.raises(InputError, match="damaged"):
        create_ranker("cpu").restore(pieces)


def test_a_machine_on_which_nothing_ran_has_no_predictor(two_machines):
    frame, groups = two_machines
    rows = frame["target_vector_log2"] == 5.0
    ranker = create_ranker("cpu").fit(frame.assign(time_us=frame["time_us"].where(rows)), groups)
    assert list(ranker.parts) == [OWN[0], "heuristic"]
