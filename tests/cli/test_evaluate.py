"""`frontrunner evaluate` on recordings of a made-up machine."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from frontrunner.benchmarks.measuring.outcome import Outcome
from frontrunner.cli import main
from frontrunner.experiments.dataset.recording import Provenance, Recording
from frontrunner.experiments.evaluation import api as evaluation_api
from frontrunner.experiments.evaluation import report as evaluation_report
from frontrunner.models import create_ranker, load, save

from ..conftest import load_samples

samples = load_samples()
COUNT = 60


def record(
    path: Path, name: str, device: str, seed: int, fails: bool = False, default_us: float = 900.0
) -> Path:
    """A recording where wide vectors are fast, and every ninth candidate fails."""
    problem = samples.PROBLEMS[name]
    queue = samples.candidates(problem, COUNT, seed)
    width = queue.filter(like="vec_").prod(axis=1).to_numpy(float)
    times = 1000 * np.exp(-width / width.max()) + np.random.default_rng(seed).uniform(0, 9, COUNT)
    good = {"baseline_us": default_us, "device": "local-task", "compile_s": 0.5}
    outcomes = {
        i: Outcome("compile_failed", compile_s=0.5)
        if fails or i % 9 == 0
        else Outcome("ok", float(time), executable=str(i), **good)
        for i, time in enumerate(times)
    }
    provenance = Provenance(
        problem, samples.TARGET, {"local-task": device}, "3.13.0", "3.13.0", seed, None, "test"
    )
    Recording.build(queue.assign(pipeline="p"), outcomes, provenance).write(path)
    return path


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recordings")
    for seed, (name, device) in enumerate(
        [("skinny", "one chip"), ("odd", "one chip"), ("batch", "one chip"), ("odd", "other chip")]
    ):
        record(folder / f"{name}-{device[:5].strip()}.parquet", name, device, seed)
    return folder


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.chdir(tmp_path)


QUICK = ("--no-mlflow", "--jobs", 1)


@pytest.fixture(scope="module")
def made(recordings, tmp_path_factory):
    """The folder of an evaluation with a learned ranker."""
    folder = tmp_path_factory.mktemp("evaluation") / "made"
    options = ("--rankers", "heuristic,lightgbm", "--seeds", 2, "--out", folder)
    assert main([str(a) for a in ("evaluate", recordings, *options, *QUICK)]) == 0
    return folder


def test_the_figures(made):
    found = json.loads((made / "evaluation.json").read_text())
    assert found["rankers"].keys() == {"shuffle", "heuristic", "lightgbm"}
    shuffle, learned = found["rankers"]["shuffle"], found["rankers"]["lightgbm"]
    for key in (
        "iterations_geomean",
        "fewer_than_shuffle",
        "best_of_16_median",
        "best_of_16_worst",
        "worst_ratio_to_shuffle",
        "size_bytes",
        *(f"regret_{k}_{of}" for k in (8, 16, 64) for of in ("median", "median_low", "worst")),
        "spec_share",
    ):
        assert isinstance(learned[key], float | int)
    assert shuffle["fewer_than_shuffle"] == 1
    assert learned["fewer_than_shuffle"] > 1
    assert learned["fewer_than_shuffle_low"] <= learned["fewer_than_shuffle"]
    assert (shuffle["size_bytes"], learned["size_bytes"] > 1000) == (0, True)
    assert found["cases"].keys() == {"skinny-one c", "odd-one c", "batch-one c", "odd-other"}
    assert found["cases"]["skinny-one c"]["candidates"] == COUNT
    assert (found["holdout"], found["seeds"], found["recordings"]) == ("problem", 2, 4)
    assert (found["problems"], found["families"], found["devices"]) == (3, 2, 2)
    assert found["default_wins"] == 0
    assert found["notes"][0] == "4 recordings: 3 problems, 2 families, 2 devices"


def test_the_files(made):
    assert {p.relative_to(made).as_posix() for p in made.rglob("*") if p.is_file()} == {
        "evaluation.json",
        "report.html",
        *(
            f"{t}.{e}"
            for t in ("summary", "cases", "results", "curves")
            for e in ("csv", "parquet")
        ),
        *(f"plots/{n}.png" for n in ("best_so_far", "iterations", "ranks", "importances", "size")),
        "predictors/lightgbm.predictor",
    }
    assert [p.name for p in made.parent.iterdir()] == ["made"]
    results = pd.read_parquet(made / "results.parquet")
    assert len(results) == (1 + 1 + 2) * 4
    assert set(results[results.ranker == "lightgbm"].seed) == {0, 1}
    pd.testing.assert_frame_equal(pd.read_csv(made / "results.csv"), results)
    # Both recordings of one problem were left out together.
    assert results[results.case.str.startswith("odd")].left_out.nunique() == 1
    predictor = made / "predictors" / "lightgbm.predictor"
    ranker = load(predictor)
    assert ranker.is_fitted
    assert len(ranker.training_["problems"]) == 3


def test_a_saved_ranker_that_knows_the_recordings(frontrunner, recordings, made):
    file = made / "predictors" / "lightgbm.predictor"
    ran = frontrunner("evaluate", recordings, "--rankers", file, "--out", "out", "--json", *QUICK)
    assert ran.code == 0
    assert "was trained on 4 of these 4 recordings" in ran.err
    found = json.loads(ran.out)
    assert (found.pop("out"), found.pop("report")) == ("out", "out/report.html")
    assert found == json.loads(Path("out", "evaluation.json").read_text())
    assert found["rankers"][str(file)]["size_bytes"] == file.stat().st_size


@pytest.mark.parametrize(
    ("devices", "foreign"),
    [(["one chip"], "other chip"), (["one chip", "other chip"], ""), (["x"], "one chip, other")],
)
def test_a_saved_ranker_of_another_device(frontrunner, recordings, devices, foreign):
    save(create_ranker("heuristic"), "saved", {"devices": devices})
    ran = frontrunner("evaluate", recordings, "--rankers", "saved", "--out", "out", *QUICK)
    assert ran.code == 0
    assert ("the ranker was trained on" in ran.err) is bool(foreign)
    assert f"and this is {foreign}" in ran.err or not foreign


def test_a_table_for_people(frontrunner, recordings, tmp_path):
    ran = frontrunner("evaluate", recordings, "--rankers", "heuristic", "--verbose", *QUICK)
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert re.search(r"^heuristic +\d+\.\d +\d+\.\dx", ran.out, re.MULTILINE)
    assert not any("─" * 81 in line for line in lines)
    assert any(line.startswith("odd-other") for line in ran.out.splitlines())
    assert ran.out.splitlines()[-2:] == [
        "written to runs/evaluation-1",
        "report       runs/evaluation-1/report.html",
    ]
    assert "</html>" in Path("runs/evaluation-1/report.html").read_text()
    assert (tmp_path / "runs" / "evaluation-1" / "summary.csv").exists()


def test_devices_are_left_out(frontrunner, recordings):
    options = ("--rankers", "heuristic", "--holdout", "device", "--seed", 5, "--out", "out")
    ran = frontrunner("evaluate", recordings, *options, *QUICK)
    assert ran.code == 0
    told = "2 devices: the interval is over their problems; it says nothing about other devices"
    assert told in ran.out.splitlines()
    assert set(pd.read_csv("out/results.csv").left_out) == {"one chip", "other chip"}
    assert json.loads(Path("out", "evaluation.json").read_text())["seed"] == 5


def test_families_are_left_out(frontrunner, recordings):
    options = ("--rankers", "lightgbm:rounds=3", "--holdout", "family", "--seeds", 1)
    ran = frontrunner("evaluate", recordings, *options, "--out", "out", *QUICK)
    assert ran.code == 0
    results = pd.read_csv("out/results.csv")
    assert set(results.left_out) == {"matmul", "batch_matmul"}
    assert (results.left_out == results.family).all()


def test_the_default_may_win(frontrunner, recordings, tmp_path):
    quick = record(tmp_path / "quick.parquet", "odd", "one chip", 7, default_us=100.0)
    ran = frontrunner("evaluate", quick, "--rankers", "heuristic", "--verbose", *QUICK)
    assert ran.code == 0
    assert any(line.startswith("the default wins: 1 case, ") for line in ran.out.splitlines())
    assert "the default wins" in next(
        line for line in ran.out.splitlines() if line.startswith("quick")
    )
    found = json.loads(Path("runs", "evaluation-1", "evaluation.json").read_text())
    assert found["rankers"]["heuristic"]["iterations_geomean"] is None
    assert found["rankers"]["heuristic"]["regret_16_worst"] == 0
    assert found["rankers"]["heuristic"]["spec_share"] == 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--rankers", ""], "the list of rankers is empty"),
        (["--rankers", "lightgmb"], "did you mean 'lightgbm'"),
        (["--holdout", "weather"], "'weather' is not one of"),
        (["--seeds", "0"], "--seeds"),
        (["--out", "taken"], "--out: taken is not empty"),
    ],
)
def test_options_that_cannot_be_used(frontrunner, recordings, options, says):
    Path("taken").mkdir()
    Path("taken", "thesis.txt").write_text("")
    ran = frontrunner("evaluate", recordings, *options)
    assert ran.code == 2
    assert says in ran.err
    assert ran.err.startswith("error: ")


def test_recordings_that_cannot_be_used(frontrunner, recordings, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    (tmp_path / "cut.parquet").write_bytes(b"")
    hopeless = record(tmp_path / "hopeless.parquet", "odd", "one chip", 0, fails=True)
    one = recordings / "skinny-one c.parquet"
    for arguments, says in (
        ([], "Missing argument"),
        (["nowhere"], "nowhere"),
        ([empty], "empty holds no recordings"),
        ([tmp_path / "cut.parquet"], "cut.parquet"),
        ([hopeless], "has no successful candidate"),
        ([one, "--holdout", "device"], "recordings of one device only: one chip"),
        ([one, "--rankers", "lightgbm"], "'lightgbm' has nothing to learn from"),
    ):
        ran = frontrunner("evaluate", *arguments, "--no-mlflow")
        assert (ran.code, says in ran.err) == (2, True), ran.err
        assert len(ran.err.splitlines()) <= 2
    assert not Path("runs").exists()


@pytest.fixture
def written(monkeypatch):
    """Which folders were filled; what is tracked goes nowhere."""
    folders = []
    write = evaluation_api.write_report

    def note(report, out):
        folder, missing = write(report, out)
        folders.append(folder)
        return folder, missing

    monkeypatch.setattr(evaluation_api, "write_report", note)
    monkeypatch.setattr(evaluation_report.Tracker, "_write", lambda *_: {})
    return folders


FAST = ("--rankers", "shuffle", "--jobs", 1)


def test_nobody_listens(frontrunner, recordings, written, monkeypatch):
    def left(*_, **__):
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("click.echo", left)
    assert frontrunner("evaluate", recordings, *FAST).code == 1
    assert Path("runs", "evaluation-1", "summary.csv").exists()


def test_ctrl_c_before_anything_is_written(frontrunner, recordings, written, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("frontrunner.experiments.evaluation.api.cross_validate", interrupt)
    ran = frontrunner("evaluate", recordings, *FAST, "--json")
    assert ran.code == 130
    assert json.loads(ran.out)["error"]["hint"].startswith("nothing is saved")
    assert list(Path().iterdir()) == []


def test_ctrl_c_while_it_is_tracked(frontrunner, recordings, written, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(evaluation_report.Tracker, "_write", interrupt)
    ran = frontrunner("evaluate", recordings, *FAST, "--json")
    assert ran.code == 130
    assert json.loads(ran.out)["out"] == "runs/evaluation-1"
    assert "hint: the results are in runs/evaluation-1" in ran.err


def test_figures_that_cannot_be_kept_are_shown(frontrunner, recordings, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pandas.DataFrame.to_csv", full)
    ran = frontrunner("evaluate", recordings, *FAST, "--no-mlflow", "--json")
    assert ran.code == 1
    assert "cannot write" in json.loads(ran.out)["error"]["message"]
    assert any(line.startswith("shuffle") for line in ran.err.splitlines())
    assert list(Path().iterdir()) == []


def test_the_current_folder(frontrunner, recordings, written, tmp_path, monkeypatch):
    here = tmp_path / os.fsdecode(b"in no encoding \xff")
    here.mkdir()
    monkeypatch.chdir(here)
    runs = []
    monkeypatch.setattr(evaluation_report.Tracker, "_write", lambda _, run: runs.append(run) or {})
    ran = frontrunner("evaluate", recordings, *FAST, "--out", ".")
    assert (ran.code, ran.err) == (0, "")
    assert Path("summary.csv").exists()
    assert [run["name"] for run in runs] == [here.name]
    assert frontrunner("evaluate", recordings, *FAST, "--out", here / "below").code == 0


def test_two_at_a_time(frontrunner, recordings, written, monkeypatch):
    write = evaluation_api.write_report

    def another_first(report, folder):
        monkeypatch.setattr(evaluation_api, "write_report", write)
        assert frontrunner("evaluate", recordings, *FAST).code == 0
        return write(report, folder)

    monkeypatch.setattr(evaluation_api, "write_report", another_first)
    ran = frontrunner("evaluate", recordings, *FAST, "--json")
    assert ran.code == 0
    assert [str(folder) for folder in written] == ["runs/evaluation-1", "runs/evaluation-2"]
    assert json.loads(ran.out)["out"] == "runs/evaluation-2"
    assert all((folder / "summary.csv").exists() for folder in written)


def test_rankers_may_be_repeated(frontrunner, recordings):
    save(create_ranker("heuristic"), "x,y.p")
    names = ("--rankers", "x,y.p", "--rankers", "heuristic,shuffle:seed=3")
    ran = frontrunner("evaluate", recordings, *names, "--json", *QUICK)
    found = json.loads(ran.out)["rankers"]
    assert found.keys() == {"shuffle", "x,y.p", "heuristic", "shuffle:seed=3"}


def test_seeds_are_checked_before_the_work(frontrunner, recordings):
    options = ("--rankers", "forest", "--seed", 2**31 - 1, "--seeds", 2, "--no-mlflow")
    ran = frontrunner("evaluate", recordings, *options)
    assert ran.code == 2
    assert "seed of ranker 'forest' has to be a whole number from 0 to 2147483647" in ran.err


def test_a_folder_that_cannot_be_written_leaves_what_is_done(frontrunner, recordings, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", full)
    ran = frontrunner("evaluate", recordings, "--rankers", "heuristic", "--out", "made", *QUICK)
    assert ran.code == 1
    assert "cannot write to made: No space left on device" in ran.err
    assert "make room, or name another folder in ., where finished parts are kept" in ran.err
    (kept,) = Path().iterdir()
    assert kept.name.startswith(".evaluation-")


def test_a_table_with_what_its_columns_are(frontrunner):
    rows = [f"{gpu},{x},{x + at}" for at, gpu in enumerate("ab") for x in range(1, 31)]
    Path("data.csv").write_text("\n".join(["gpu,x,time", *rows]))
    said = 'time = "time"\nunit = "us"\nknobs = ["x"]\n[device]\ncolumn = "gpu"\n'
    Path("map.toml").write_text(said)
    options = ("--columns", "map.toml", "--holdout", "device", "--rankers", "lightgbm:rounds=9")
    ran = frontrunner("evaluate", "data.csv", *options, "--json", *QUICK)
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)["rankers"]
    assert found["lightgbm:rounds=9"]["fewer_than_shuffle"] > 1
    ran = frontrunner("evaluate", "data.csv", *options[2:], *QUICK)
    assert ran.code == 2
    assert "data.csv is a table of columns that are not known: gpu, x, time" in ran.err
    Path("map.toml").write_text(said.replace('["x"]', '["y"]'))
    ran = frontrunner("evaluate", "data.csv", *options, *QUICK)
    assert ran.code == 2
    assert "map.toml: knobs names the column 'y', and data.csv has none" in ran.err
    assert "it has gpu, x, time" in ran.err
