"""Made-up recordings: what is best in them is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from frontrunner.experiments.dataset import KINDS, make_synthetic, read_recording, write_synthetic


@pytest.mark.parametrize("device", [0, 1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_the_best_is_the_only_one_and_known(kind, device):
    made = make_synthetic(kind, device, seed=4)
    times = made.recording.frame["time_us"]
    assert times.idxmin() == made.best
    assert times[made.best] == pytest.approx(100.0)
    assert (times.drop(made.best).dropna() > 100.9).all()
    again = make_synthetic(kind, device, seed=4).recording.frame
    pd.testing.assert_frame_equal(again, made.recording.frame)
    assert not np.array_equal(
        make_synthetic(kind, device, seed=5).recording.frame["time_us"], times, equal_nan=True
    )


def test_kinds_are_what_they_are_called():
    frames = {kind: make_synthetic(kind).recording.frame for kind in KINDS}
    assert frames["failing"]["time_us"].isna().mean() == pytest.approx(0.3, abs=0.12)
    assert not any(frames[kind]["time_us"].isna().any() for kind in KINDS if kind != "failing")
    assert len(frames["constrained"]) < 0.75 * len(frames["separable"])
    knobs = [c for c in frames["separable"] if c.startswith("separable_")]
    logs = np.log(frames["separable"]["time_us"])
    # Each knob on its own explains all of it.
    effects = sum(
        logs.groupby(frames["separable"][k]).transform("mean") - logs.mean() for k in knobs
    )
    assert np.corrcoef(effects, logs)[0, 1] > 0.999
    rugged = np.log(frames["rugged"]["time_us"])
    knobs = [c for c in frames["rugged"] if c.startswith("rugged_")]
    effects = sum(
        rugged.groupby(frames["rugged"][k]).transform("mean") - rugged.mean() for k in knobs
    )
    assert np.corrcoef(effects, rugged)[0, 1] < 0.99


def test_devices_are_alike_and_not_the_same():
    first, second = (make_synthetic("rugged", device).recording.frame for device in (0, 1))
    assert 0.5 < first["time_us"].corr(second["time_us"], method="spearman") < 0.999


def test_written_ones_are_read(tmp_path):
    paths = write_synthetic(tmp_path / "made", devices=2, seeds=(0, 1))
    assert len(paths) == 2 * 2 * len(KINDS)
    assert read_recording(paths[0]).provenance.problem.name == "synthetic_separable"
