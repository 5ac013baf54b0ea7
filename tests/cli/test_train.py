"""`frontrunner train`: what options come to. Training itself is tested in `tests/experiments`."""

from __future__ import annotations

import json

import pytest

from frontrunner.models import load


@pytest.fixture
def recordings(tmp_path, record_sample, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "recordings"
    folder.mkdir()
    record_sample(folder / "a.parquet", "odd")
    record_sample(folder / "b.parquet", "skinny", seed=1)
    (tmp_path / "empty").mkdir()
    return "recordings"


def test_trains_and_says_what_next(recordings, frontrunner, tmp_path):
    ran = frontrunner(
        *f"train {recordings} --ranker forest --set trees=3 --seed 4 --out f --json".split()
    )
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert found["ranker"] == "forest"
    assert found["params"]["seed"] == 4
    assert (found["candidates"], found["problems"], found["recordings"]) == (120, 2, 2)
    assert found["devices"] == ["local-task on a chip"]
    assert found["size_bytes"] == (tmp_path / "f").stat().st_size
    assert found["seconds"] > 0
    assert load("f").get_params()["trees"] == 3

    ran = frontrunner(*f"train {recordings} --set rounds=3 --out f".split())
    assert ran.code == 0
    assert ran.err == ""
    assert "frontrunner tune IN.mlir --ranker f" in ran.out
    assert "frontrunner evaluate RECORDINGS --rankers lightgbm" in ran.out
    assert load("f").name == "lightgbm"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--out f", "Missing argument"),
        ("recordings", "Missing option '--out'"),
        ("gone --out f", "does not exist"),
        ("empty --out f", "empty holds no recordings"),
        ("recordings --out none/f", "there is no folder none"),
        ("recordings --out recordings", "is a folder"),
        ("recordings --out f --ranker shuffle", "'shuffle' learns nothing"),
        ("recordings --out f --ranker forst", "did you mean 'forest'"),
        ("recordings --out f --set depth=3", "no parameter 'depth'"),
        ("recordings --out f --set rounds=0", "has to be a whole number from 1 to 10000, got 0"),
    ],
)
def test_refused(recordings, frontrunner, tmp_path, arguments, message):
    ran = frontrunner("train", *arguments.split())
    assert ran.code == 2
    assert message in ran.err.splitlines()[0]
    assert ran.out == ""
    assert not (tmp_path / "f").exists()
