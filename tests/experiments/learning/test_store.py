"""Predictors in a folder: listed with what they were trained on, and taken where they fit."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from frontrunner.core import InputError
from frontrunner.experiments.learning import note_tried, predictor_for, saved_predictors
from frontrunner.experiments.learning.store import FOLDER_VARIABLE
from frontrunner.experiments.tuning.preparation import usual_ranker
from frontrunner.models import create_ranker, save
from frontrunner.models.heuristic import HeuristicRanker
from frontrunner.search import Target

ZEN4 = Target("llvm-cpu", "znver4", "host", 2, 64, 32, (1 << 15, 1 << 20, 1 << 25))
CHIP = "local-task on a chip"
# In memory, where files may be of any year; on disks, many know none after 2446.
MEMORY = Path("/dev/shm")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "kept"))
    (tmp_path / "kept").mkdir()
    return tmp_path / "kept"


def keep(path: Path, arch: str = "znver4", device: str = CHIP, age: float = 0.0) -> Path:
    training = {"devices": [device], "archs": [arch], "problems": ["p", "q"], "candidates": 70}
    save(create_ranker("heuristic"), path, training)
    os.utime(path, (1e9 - age, 1e9 - age))
    return path


def test_each_says_what_it_was_trained_on_and_how_good_it_is(folder: Path) -> None:
    old, new = keep(folder / "old.predictor", age=60), keep(folder / "new.predictor")
    (folder / "broken.predictor").write_bytes(b"nothing")
    note_tried(new, 4.25)
    os.utime(new, (1e9, 1e9))
    found = saved_predictors()
    assert [one.path for one in found] == [new, old, folder / "broken.predictor"]
    assert found[0].ranker == "heuristic"
    assert found[0].devices == ("a chip (znver4)",)
    assert (found[0].problems, found[0].candidates, found[0].tried) == (2, 70, 4.25)
    assert found[0].written == "2001-09-09 01:46"
    assert found[1].tried is None
    assert "not a saved ranker" in found[2].error
    assert found[0].to_dict()["devices"] == ("a chip (znver4)",)


def test_that_of_the_device_is_taken_the_newest_of_them(folder: Path) -> None:
    assert predictor_for([CHIP], ZEN4) is None
    keep(folder / "elsewhere.predictor", arch="znver3")
    keep(folder / "other.predictor", device="local-task on another chip")
    assert predictor_for([CHIP], ZEN4) is None
    keep(folder / "old.predictor", age=60)
    new = keep(folder / "new.predictor")
    found = predictor_for([CHIP], ZEN4)
    assert found is not None and found.path == new
    assert predictor_for([CHIP, "local-task on another chip"], ZEN4) is None
    assert predictor_for([], ZEN4) is None
    assert predictor_for([CHIP], replace(ZEN4, backend="cuda", arch="sm_80")) is None


def test_what_cannot_be_used_is_told_where_nothing_else_fits(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: HeuristicRanker, payload: object) -> None:
        raise KeyError("weights")

    broken, said = keep(folder / "broken.predictor"), list[str]()
    assert usual_ranker([CHIP], ZEN4, said.append) == str(broken)
    said.clear()
    monkeypatch.setattr(HeuristicRanker, "restore", fails)
    assert usual_ranker([CHIP], ZEN4, said.append) == "cpu"
    assert said == [f"{broken} is not used: KeyError: 'weights'"]
    assert usual_ranker([], ZEN4, said.append) == "cpu"
    assert len(said) == 1


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    assert saved_predictors(tmp_path / "gone") == []
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is no folder"):
        saved_predictors(tmp_path / "file")


def test_a_file_called_as_the_usual_folder_is_none_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    Path("predictors").touch()
    assert saved_predictors() == []
    assert predictor_for([CHIP], ZEN4) is None
    monkeypatch.setenv(FOLDER_VARIABLE, "predictors")
    with pytest.raises(InputError, match=f"^{FOLDER_VARIABLE}: predictors is no folder"):
        predictor_for([CHIP], ZEN4)


def test_what_a_predictor_asks_beside_does_not_count(folder: Path) -> None:
    """One of another machine asks the predictors that ship, which may have learned on this one."""
    keep(folder / "elsewhere.predictor", arch="znver3")
    ships = create_ranker("cpu", prior=1.0)
    save(ships, folder / "asks.predictor", {"devices": [CHIP], "archs": ["znver3"]})
    (found, *_) = [one for one in saved_predictors() if one.path.name == "asks.predictor"]
    assert found.devices == ("a chip (znver3)",)
    assert found.problems == 0


@pytest.mark.skipif(not os.access(MEMORY, os.W_OK), reason="no folder in memory")
def test_a_predictor_may_be_of_any_year() -> None:
    year_12000 = 316_500_000_000
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        path = keep(Path(folder, "late.predictor"), age=1e9 - year_12000)
        if path.stat().st_mtime != year_12000:
            pytest.skip("the file system knows no such time")
        (found,) = saved_predictors(Path(folder))
    assert (found.path, found.written, found.ranker) == (path, "", "heuristic")
