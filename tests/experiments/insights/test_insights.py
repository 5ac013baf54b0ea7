"""What winners have in common: planted in real recordings, and found again."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import frontrunner as package
from frontrunner.core import InputError
from frontrunner.experiments.dataset import Recording
from frontrunner.experiments.insights import Insight
from frontrunner.experiments.insights.comparisons import compare
from frontrunner.experiments.insights.plots import draw
from frontrunner.experiments.insights.quantities import values
from frontrunner.experiments.learning import read_cases

ROOT = Path(__file__).parents[3]
ZEN4 = ROOT / "experiments" / "recordings" / "zen4"
SAPPHIRE_RAPIDS = ROOT / "experiments" / "recordings" / "sapphire_rapids"
LAVAPIPE = ROOT / "experiments" / "recordings" / "lavapipe"
PRODUCT = "matmul_32x768x768_f32_f32_f32.parquet"


def quantity(recording: Recording, name: str) -> np.ndarray:
    about = recording.provenance
    return values(about.problem, about.target, recording.frame[recording.knobs])[name]


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings in which the time is one over the columns of the vector tile."""
    folder = tmp_path_factory.mktemp("planted")
    for path in sorted(ZEN4.glob("matmul_*.parquet"))[:6]:
        recording = Recording.read(path)
        frame = recording.frame.copy()
        ran = frame["kind"] == "ok"
        relative = 1 / quantity(recording, "vector_columns")
        frame.loc[ran, "relative"] = relative[ran]
        frame.loc[ran, "time_us"] = relative[ran] * frame.loc[ran, "baseline_us"]
        replace(recording, frame=frame).write(folder / path.name)
    return folder


def test_what_is_planted_is_found(planted: Path) -> None:
    expected, losses = [], []
    for path in sorted(planted.glob("*.parquet")):
        recording = Recording.read(path)
        ran = (recording.frame["kind"] == "ok").to_numpy()
        tiles = quantity(recording, "vector_columns")
        default = tiles[recording.frame["origin"].str.contains("default")][0]
        assert tiles[ran].max() >= 2 * default
        expected.append(tiles[ran].max() / default)
        losses.append(tiles[ran].max() / tiles[ran & (tiles < 2 * default)].max())
    found = package.insights(planted)
    (device,) = found.devices
    insight = next(one for one in found.devices[device] if one.quantity == "vector_columns")
    assert (insight.direction, insight.dispatches, insight.of) == ("more", 6, 6)
    assert insight.ratio == pytest.approx(np.median(expected))
    assert insight.loss == pytest.approx(np.exp(np.mean(np.log(losses))), rel=0.01)


def test_copies_of_a_recording_do_not_agree_with_each_other(planted: Path, tmp_path: Path) -> None:
    (first, *_) = sorted(planted.glob("*.parquet"))
    recording = Recording.read(first)
    for factor, name in enumerate("abc", 1):
        frame = recording.frame.copy()
        frame[["time_us", "baseline_us"]] *= factor
        replace(recording, frame=frame).write(tmp_path / f"{name}.parquet")
    found = package.insights(tmp_path)
    assert (found.repeated, *found.dispatches.values(), *found.devices.values()) == (2, 1, ())
    assert "2 recordings left out, since there are larger ones" in str(found)


@pytest.fixture(scope="module")
def without_defaults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings of the first format."""
    folder = tmp_path_factory.mktemp("first")
    for path in SAPPHIRE_RAPIDS.glob("*.parquet"):
        if Recording.read(path).uniform.all():
            shutil.copy(path, folder)
    return folder


def test_those_of_zen4_are_told_and_drawn(
    frontrunner, without_defaults: Path, tmp_path: Path
) -> None:
    ran = frontrunner("insights", ZEN4, without_defaults, "--out", tmp_path / "plots")
    assert ran.code == 0, ran.err
    assert "16 dispatches, winners" in ran.out
    assert "7 recordings in which no default of the compiler ran left out" in ran.out
    assert "the winner has at least twice the default's accumulators, in registers (" in ran.out
    assert "the best that keep to the default's are" in ran.out
    assert [path.suffix for path in (tmp_path / "plots").iterdir()] == [".png"]
    told = json.loads(frontrunner("insights", ZEN4, "--json").out)
    (device,) = told["devices"]
    for one in told["devices"][device]:
        assert one["dispatches"] >= 0.3 * one["of"]
        if one["loss"] is not None:
            assert one["loss"] >= 1 and one["loss_ci"][0] <= one["loss"] <= one["loss_ci"][1]


@pytest.mark.filterwarnings("error")
def test_of_quantities_that_are_0_the_loss_is_known() -> None:
    """Kernels that promote nothing have 0 bytes of shared memory."""
    (found,) = (compare(case) for case in read_cases([LAVAPIPE / PRODUCT]))
    assert found is not None and "shared_bytes" in found.ratios
    assert not any(np.isnan(loss) for loss in found.losses.values())
    assert not any(np.isnan(ratio) for ratio in found.ratios.values())


def test_of_what_the_default_has_none_there_is_no_multiple() -> None:
    """Vulkan's default may promote nothing to shared memory, and winners do."""
    said = Insight("q", "bytes", "more", 3, 0, 3, None, None, None, ()).sentence()
    assert "at least twice the default's bytes (it has none)" in said


def test_devices_whose_names_differ_in_signs_have_a_picture_each(tmp_path: Path) -> None:
    (found,) = (compare(case) for case in read_cases([LAVAPIPE / PRODUCT]))
    assert found is not None
    draw({"a chip (x)": [found], "a chip, x": [found]}, tmp_path)
    assert len([*tmp_path.iterdir()]) == 2


def test_without_defaults_nothing_can_be_said(without_defaults: Path) -> None:
    with pytest.raises(
        InputError, match="in none of 7 recordings of ours did the compiler's default run"
    ):
        package.insights(without_defaults)


def test_pictures_that_cannot_be_written_cost_no_insights(
    planted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = package.insights(planted, out=tmp_path)
    (picture,) = tmp_path.iterdir()
    picture.unlink()
    picture.mkdir()
    again = package.insights(planted, out=tmp_path)
    assert (again.devices, again.plots) == (found.devices, None)
    assert f"warning: cannot write {picture}: Is a directory; " in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [picture]
