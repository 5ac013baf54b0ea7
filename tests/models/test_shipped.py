"""The default CPU ranker: predictors of kinds of machines, the likest counting most."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from frontrunner.core import InputError
from frontrunner.features.gpu import GPU
from frontrunner.models import create_ranker, load, save
from frontrunner.models.shipped import MACHINE

OWN = ["predictor 32B-16-512K", "predictor 64B-32-1024K", "predictor all"]
SHIPPED = [
    "shipped predictor 32B-16-512K",
    "shipped predictor 64B-32-1024K",
    "shipped predictor 64B-32-2048K",
    "shipped predictor all",
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


def test_each_kind_of_machine_has_a_predictor_of_its_own(two_machines):
    frame, groups = two_machines
    ranker = create_ranker("cpu").fit(frame, groups)
    assert list(ranker.parts) == OWN
    half = len(frame) // 2
    for part, rows in zip(OWN, (slice(None, half), slice(half, None), slice(None)), strict=True):
        alone = create_ranker("lightgbm", feature_share=1.0, row_share=0.6)
        alone.fit(frame.iloc[rows], groups[rows])
        np.testing.assert_array_equal(ranker.parts[part].score(frame), alone.score(frame))


@pytest.mark.parametrize("prior", [0.0, 0.5, 1.0])
def test_predictors_count_by_how_like_the_target_their_machines_are(prior, two_machines):
    """Zen 3 and Zen 4 are too far apart, and two machines of 1 and of 2 MiB L2 are one doubling.

    The predictor of all machines counts in full.
    """
    frame, groups = two_machines
    ranker = create_ranker("cpu", prior=prior).fit(frame, groups)
    own = np.array([1, 0, 1]), np.array([0, 1, 1])
    ships = np.array([1, 0, 0, 1]), np.array([0, 1, 1 / 2, 1])
    names = [*(OWN if prior < 1 else []), *(SHIPPED if prior else [])]
    assert list(ranker.parts) == names
    assert bool(ranker.dump()) == (prior < 1)  # what is not asked is not learned
    half = len(frame) // 2
    for target, rows in enumerate((slice(None, half), slice(half, None))):
        weights = dict(zip(OWN, (1 - prior) * own[target] / own[target].sum(), strict=True))
        shares = prior * ships[target] / ships[target].sum()
        weights |= dict(zip(SHIPPED, shares, strict=True))
        found = frame.iloc[rows]
        due = sum(weights[name] * ranker.parts[name].score(found) for name in names)
        np.testing.assert_allclose(ranker.score(found), due)


def test_where_all_are_far_off_the_nearest_is_asked(two_machines):
    frame, groups = two_machines
    ranker = create_ranker("cpu").fit(frame, groups)
    zen3, _, everything = ranker.parts.values()
    # Four and five doublings from them.
    values = dict(zip(MACHINE, (4, 4, np.log2(4 << 20)), strict=True))
    other = frame.assign(**values)
    due = (zen3.score(other) / 16 + everything.score(other)) / (1 + 1 / 16)
    np.testing.assert_allclose(ranker.score(other), due)


def test_a_machine_that_tells_nothing_of_itself_asks_all_alike(two_machines):
    frame, groups = two_machines
    ranker = create_ranker("cpu").fit(frame, groups)
    unknown = frame.assign(**dict.fromkeys(MACHINE, np.inf))
    due = np.mean([part.score(unknown) for part in ranker.parts.values()], axis=0)
    np.testing.assert_allclose(ranker.score(unknown), due)


def test_untrained_it_asks_the_predictors_that_ship_whatever_the_prior(two_machines):
    frame, _ = two_machines
    rankers = [create_ranker("cpu", prior=prior) for prior in (0.0, 0.5)]
    assert [list(r.parts) for r in rankers] == [SHIPPED] * 2
    np.testing.assert_array_equal(*(r.score(frame) for r in rankers))


def test_all_predictors_are_kept(two_machines, tmp_path):
    frame, groups = two_machines
    ranker = create_ranker("cpu", prior=0.25).fit(frame, groups)
    save(ranker, tmp_path / "cpu.predictor")
    loaded = load(tmp_path / "cpu.predictor")
    assert list(loaded.parts) == [*OWN, *SHIPPED]
    np.testing.assert_array_equal(loaded.score(frame), ranker.score(frame))


@pytest.mark.parametrize(
    "machine", ["\x1b[31mred", "../..", "64B-32-1024K/64B-32-1024K", "0B-32-1024K"]
)
def test_what_is_no_machine_is_refused(machine, two_machines):
    frame, groups = two_machines
    learned = create_ranker("cpu").fit(frame[:200], groups[:200]).dump()
    pieces = {f"{machine}/{path.rpartition('/')[2]}": data for path, data in learned.items()}
    with pytest.raises(InputError, match="damaged"):
        create_ranker("cpu").restore(pieces)


def test_a_file_with_features_of_others_is_refused(two_machines, tmp_path):
    frame, groups = two_machines
    ranker = create_ranker("cpu").fit(frame[:200], groups[:200])
    ranker.catalogue_ = GPU
    save(ranker, tmp_path / "cpu.predictor")
    with pytest.raises(InputError, match=r"for GPUs, and ranker .cpu. orders those for CPUs"):
        load(tmp_path / "cpu.predictor")


def test_a_machine_on_which_nothing_ran_has_no_predictor(two_machines):
    frame, groups = two_machines
    rows = frame["target_vector_log2"] == 5.0
    ranker = create_ranker("cpu").fit(frame.assign(time_us=frame["time_us"].where(rows)), groups)
    assert list(ranker.parts) == OWN[:1]


def test_a_machine_that_tells_of_no_cache_has_a_predictor_that_can_be_kept(training, tmp_path):
    frame, groups = training
    frame = frame.assign(target_l2_log2=0.0)
    ranker = create_ranker("cpu").fit(frame, groups)
    assert np.isfinite(ranker.score(frame)).all()
    save(ranker, tmp_path / "cpu.predictor")
    np.testing.assert_array_equal(
        load(tmp_path / "cpu.predictor").score(frame), ranker.score(frame)
    )
