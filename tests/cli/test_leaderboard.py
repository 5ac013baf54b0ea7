"""`frontrunner leaderboard`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from frontrunner.experiments.dataset import write_synthetic

QUICK = ("--rankers", "kt_annealing", "--seeds", "1", "--jobs", "1", "--no-synthetic")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    for path in write_synthetic(folder):
        if "separable" not in path.name:
            path.unlink()
    return folder


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_the_table_and_the_pages(frontrunner, folder):
    ran = frontrunner("leaderboard", folder, *QUICK, "--json")
    assert ran.code == 0
    told = json.loads(ran.out)
    assert told["out"] == "runs/leaderboard-1"
    assert set(told["rankers"]) == {"shuffle", "kt_annealing"}
    assert "kt_annealing" in ran.err
    assert Path(told["report"]).is_file()
    assert Path("runs/leaderboard-1/leaderboard.md").read_text().startswith("# Leaderboard\n")


def test_ctrl_c_says_how_to_go_on(frontrunner, folder, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("frontrunner.experiments.leaderboard.api.score_table", interrupt)
    ran = frontrunner("leaderboard", folder, *QUICK)
    assert (ran.code, "the same command goes on" in ran.err) == (130, True)


def test_figures_that_cannot_be_kept_are_shown(frontrunner, folder, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("pandas.DataFrame.to_csv", full)
        ran = frontrunner("leaderboard", folder, *QUICK, "--json")
    assert ran.code == 1
    told = json.loads(ran.out)["error"]
    assert told["message"] == "cannot write to runs: No space left on device"
    assert "another folder in runs, where finished parts are kept" in told["hint"]
    assert any(line.startswith("kt_annealing") for line in ran.err.splitlines())
    assert frontrunner("leaderboard", folder, *QUICK, "--out", "runs/other").code == 0
    assert [path.name for path in Path("runs").iterdir()] == ["other"]


def test_what_cannot_be_used_is_refused(frontrunner, folder, tmp_path):
    ran = frontrunner("leaderboard", folder, "--rankers", "kt_fastest", "--no-synthetic")
    assert ran.code == 2 and "kt_fastest" in ran.err
    (tmp_path / "empty").mkdir()
    ran = frontrunner("leaderboard", "empty", *QUICK)
    assert ran.code == 2 and "empty holds no recordings" in ran.err


def test_tables_with_what_their_columns_are(frontrunner, tmp_path):
    (tmp_path / "data").mkdir()
    rows = [f"{gpu},{x},{x + at}" for at, gpu in enumerate("ab") for x in range(1, 31)]
    (tmp_path / "data" / "mine.csv").write_text("\n".join(["gpu,x,time", *rows]))
    ran = frontrunner("leaderboard", "data", *QUICK)
    assert (ran.code, "--columns map.toml" in ran.err) == (2, True)
    said = 'time = "time"\nunit = "us"\nknobs = ["x"]\n[device]\ncolumn = "gpu"\n'
    (tmp_path / "map.toml").write_text(said)
    ran = frontrunner("leaderboard", "data", "--columns", "map.toml", *QUICK, "--json")
    assert ran.code == 0, ran.err
    told = json.loads(ran.out)
    assert "mine.csv" in Path(told["out"], "leaderboard.md").read_text()
