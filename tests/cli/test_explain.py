"""`frontrunner explain`: what is shown. Explanations are tested in `tests/experiments`."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import pytest

from frontrunner.experiments.learning.cases import read_cases, training_frame
from frontrunner.models import create_ranker, save

DATA = Path(__file__).parents[1] / "data"
MATVEC = str(DATA / "matvec.mlir")


@pytest.fixture
def files(tmp_path, record_sample, monkeypatch):
    """A recording, and predictors of the device that it was made on and of another."""
    monkeypatch.chdir(tmp_path)
    path = record_sample(tmp_path / "r.parquet", "odd")
    ranker = create_ranker("lightgbm", rounds=5).fit(*training_frame(read_cases([path])))
    save(ranker, "here", {"devices": ["local-sync on a chip"]})
    save(ranker, "there", {"devices": ["local-sync on other silicon"], "archs": ["z80"]})


def test_a_recorded_candidate(files, frontrunner):
    ran = frontrunner(*"explain r.parquet --ranker here --row 5 --features 3 --json".split())
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert found["ranker"] == "lightgbm"
    (one,) = found["explained"]
    assert one["row"] == 5
    score = one["score"]
    adds = [share["adds"] for share in score["shares"]]
    assert len(adds) > 80
    assert score["base"] + sum(adds) == pytest.approx(score["score"])
    lines = ran.err.splitlines()
    assert lines[0] == f"candidate    {one['position']} of 60, p"
    assert lines[1].startswith("knobs        dist_m=")
    assert lines[2] == f"measured     {one['time_us']:.1f} us, place {one['place']}"
    assert f"{score['shares'][0]['adds']:+.3g}" in ran.err
    assert score["shares"][2]["name"] in ran.err
    others = sum(1 for add in adds if add) - 3
    assert f"{others} others" in ran.err

    ran = frontrunner(*"explain r.parquet --ranker here --row 0".split())
    assert "measured     it failed" in ran.out
    assert ran.err == ""


def test_the_usual_ranker_and_the_first_candidates(files, frontrunner):
    ran = frontrunner(*"explain r.parquet --top 2".split())
    assert ran.code == 0, ran.err
    assert "candidate    1 of 60" in ran.out
    assert "candidate    2 of 60" in ran.out
    assert ran.out.count("by cpu") == 2
    assert "the ranker was trained on" in ran.err  # on a chip of that name nobody did


@pytest.mark.parametrize("name", ["r.pq", "r.mlir"])
def test_a_recording_is_told_by_what_is_in_the_file(files, frontrunner, name):
    recording = Path("r.parquet").rename(name)
    ran = frontrunner("explain", recording, "--ranker", "here")
    assert ran.code == 0, ran.err
    assert "candidate    1 of 60" in ran.out


def test_a_dispatch(files, frontrunner):
    ran = frontrunner("explain", MATVEC, *"--pool 50 --set vec_m=8 --json".split())
    assert ran.code == 0, ran.err
    (one,) = json.loads(ran.out)["explained"]
    assert one["knobs"]["vec_m"] == 8
    assert (one["row"], one["time_us"]) == (None, None)


@pytest.mark.parametrize(("ranker", "warned"), [("here", False), ("there", True)])
def test_a_warning_where_the_device_is_another(files, frontrunner, ranker, warned):
    ran = frontrunner("explain", "r.parquet", "--ranker", ranker)
    assert ran.code == 0
    assert ("was trained on local-sync on other silicon" in ran.err) is warned
    ran = frontrunner("explain", MATVEC, "--pool", 20, "--ranker", ranker)
    assert ran.code == 0
    assert ("was trained on z80" in ran.err) is warned


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (". --top 3", ". is a folder"),
        ("r.parquet --row 1 --top 3", "--top and --row cannot be given together"),
        ("r.parquet --set vec_n", "'vec_n' sets nothing"),
        ("r.parquet --set vec_n=1 --set vec_n=2", "vec_n is given twice"),
        ("r.parquet --set vec_q=1", "no knob 'vec_q'"),
        ("r.parquet --row 60", "no row 60"),
        ("r.parquet --candidate 61", "no candidate 61"),
        ("r.parquet --target znver4 --pool 7", "--target, --pool cannot be given with a recording"),
        ("r.parquet --ranker shuffle", "has nothing to explain"),
        ("r.parquet --ranker lightgbm", "has to be trained first"),
        ("r.parquet --ranker pickle.bin", "is not a saved ranker"),
        ("r.parquet --ranker empty.bin", "is not a saved ranker"),
        ("cut.parquet", "is cut short"),
        ("empty.parquet", "is empty"),
        ("kernel.json", "--ranker is missing"),
        ("kernel", "--ranker is missing"),
        ("fifo.parquet", "is not a regular file"),
        ("fifo", "is not a regular file"),
        ("gone.mlir", "does not exist"),
        ("text.mlir --row 3", "--row is for recordings"),
        ("text.mlir", "text.mlir"),
    ],
)
def test_refused(files, frontrunner, arguments, message):
    Path("pickle.bin").write_bytes(pickle.dumps({"a": 1}))
    Path("empty.bin").touch()
    Path("empty.parquet").touch()
    Path("cut.parquet").write_bytes(Path("r.parquet").read_bytes()[:500])
    Path("text.mlir").write_text("no MLIR")
    result = {"configuration": {"x": 1}, "times": {}, "invalidity": "correct", "correctness": 1,
              "measurements": [{"name": "time", "value": 1}]}  # fmt: skip
    Path("kernel.json").write_text(json.dumps({"results": [result]}))
    Path("kernel").write_text(json.dumps({"results": [result]}, indent=1))
    for name in ("fifo.parquet", "fifo"):
        os.mkfifo(name)
    ran = frontrunner("explain", *arguments.split())
    assert ran.code == 2, ran.err
    assert message in ran.err.splitlines()[0]
    assert ran.out == ""


def test_a_folder_is_named_as_a_shell_takes_it(frontrunner, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("my  run").mkdir()
    assert "`frontrunner report 'my  run'`" in frontrunner("explain", "my  run").err
