"""`frontrunner train`: what options come to. Training itself is tested in `tests/experiments`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from frontrunner.experiments.observing import Tracker
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


def test_registered_on_request(recordings, frontrunner, monkeypatch):
    runs = []
    answer = {"run_id": "1", "registered": {"mine": "3"}}
    monkeypatch.setattr(Tracker, "_write", lambda _, run: runs.append(run) or answer)
    words = f"train {recordings} --set rounds=3 --out f".split()
    assert frontrunner(*words).code == 0
    assert runs == []
    ran = frontrunner(*words, "--register", "mine")
    assert ran.code == 0, ran.err
    assert "registered   models:/mine/3\n" in ran.out
    assert "frontrunner tune IN.mlir --ranker models:/mine/3\n" in ran.out
    (run,) = runs
    assert [Path(model["path"]).name for model in run["models"]] == ["f"]
    assert run["params"]["rounds"] == "3"
    assert run["tags"]["device"] == "local-task on a chip"


def test_what_is_not_registered_is_kept(recordings, frontrunner, monkeypatch):
    monkeypatch.setattr(Tracker, "_write", lambda _, run: {"error": "no server"})
    words = f"train {recordings} --set rounds=3 --out f --register mine".split()
    ran = frontrunner(*words)
    assert ran.code == 1
    assert "error: the predictor is in f, and not registered" in ran.err
    assert load("f").get_params()["rounds"] == 3
    ran = frontrunner(*words[:-1], "a/b")
    assert (ran.code, "no model can be called 'a/b'" in ran.err) == (2, True)


def test_what_to_do_next_can_be_pasted(recordings, frontrunner):
    given = ["--set", "rounds=3", "--set", "objective=lambdarank"]
    ran = frontrunner("train", recordings, *given, "--out", "my file")
    assert "frontrunner tune IN.mlir --ranker 'my file'\n" in ran.out
    # The name alone is the built-in ranker's.
    ran = frontrunner("train", recordings, *given, "--out", "lightgbm")
    assert "frontrunner tune IN.mlir --ranker ./lightgbm\n" in ran.out


def test_other_peoples_kernels_are_no_dispatches(tmp_path, frontrunner, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = [
        {"configuration": {"x": i}, "times": {}, "invalidity": "correct", "correctness": 1,
         "measurements": [{"name": "time", "value": i}]}
        for i in range(1, 30)
    ]  # fmt: skip
    Path("gemm_A4000_T4.json").write_text(json.dumps({"results": results}))
    ran = frontrunner(*"train gemm_A4000_T4.json --set rounds=3 --out f".split())
    assert ran.code == 0, ran.err
    assert "tune IN.mlir" not in ran.out
    assert "frontrunner explain RECORDING --ranker f; dispatches cannot be tuned" in ran.out
    assert "evaluate RECORDINGS --holdout device --rankers lightgbm:rounds=3" in ran.out


def test_a_predictor_is_replaced_and_an_empty_file(recordings, frontrunner):
    Path("f").touch()
    for rounds in (3, 4):
        ran = frontrunner(*f"train {recordings} --set rounds={rounds} --out f".split())
        assert ran.code == 0, ran.err
        assert load("f").get_params()["rounds"] == rounds


@pytest.mark.parametrize("name", ["recordings/a.parquet", "linked", "notes"])
def test_nothing_else_is_replaced(recordings, frontrunner, name):
    Path("linked").symlink_to("recordings/a.parquet")
    Path("notes").write_text("mine")
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    ran = frontrunner("train", recordings, "--set", "rounds=3", "--out", name)
    assert ran.code == 2
    assert f"{name} is no predictor, so it is not replaced" in ran.err
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


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
        ("recordings --out f --set seed=3 --seed 5", "--seed 5 and --set seed=3 are both given"),
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


def test_a_table_with_what_its_columns_are(tmp_path, frontrunner, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{x};{order};{x}" for x in range(20) for order in ("[0, 1]", "[1, 0]")]
    Path("data.csv").write_text("\n".join(["x;order;time", *rows]))
    Path("map.toml").write_text('time = "time"\nunit = "s"\nknobs = ["x", "order"]\n')
    ran = frontrunner(*"train data.csv --columns map.toml --set rounds=3 --out f".split())
    assert ran.code == 0, ran.err
    names = load("f").catalogue_.names
    assert [name for name in names if "order" in name] == [
        "place.order.0", "place.order.1", "beside.order.0.1", "before.order.0.1",
    ]  # fmt: skip
