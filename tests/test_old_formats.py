"""What earlier versions wrote is read: `tests/data/old`, see the README there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import frontrunner
from frontrunner.core import InputError
from frontrunner.experiments.learning import read_cases
from frontrunner.experiments.network_tuning import runs as network_runs
from frontrunner.experiments.profiling.log import ProfileLog
from frontrunner.experiments.tuning import runs
from frontrunner.models import load

OLD = Path(__file__).parent / "data" / "old"
RECORDINGS = Path(frontrunner.__file__).parent / "experiments" / "recordings"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A copy to work in, on the machine that all was measured on."""
    shutil.copytree(OLD, tmp_path / "old")
    monkeypatch.chdir(tmp_path / "old")
    for module in (runs, network_runs):
        monkeypatch.setattr(module, "fingerprint", lambda uri: f"{uri} on AMD EPYC")


def test_a_finished_run():
    result = frontrunner.resume("run", quiet=True)
    told = json.loads(Path("run/result.json").read_text())
    assert (result.speedup, result.winner) == (told["speedup"], told["winner"])
    assert result.speedup > 2
    assert result.candidates == 6
    assert result.spec == Path("run/spec.mlir")


@pytest.mark.slow
def test_a_run_that_compiles_only_goes_on():
    before = Path("compiled/outcomes.jsonl").read_text()
    result = frontrunner.resume("compiled", budget=3, quiet=True)
    assert result.outcomes == {"ok": 3}
    assert Path("compiled/outcomes.jsonl").read_text().startswith(before)


def test_recordings():
    ours = frontrunner.read_recording("recordings/matvec.parquet")
    t4 = frontrunner.read_recording("recordings/matvec.t4.json")
    assert len(ours.frame) == len(t4.frame) == 6
    assert (ours.frame["kind"] == "ok").all()
    assert ours.uniform.all()
    assert t4.uniform.all()
    np.testing.assert_allclose(ours.frame["time_us"], t4.frame["time_us"])


@pytest.mark.parametrize("name", ["lightgbm", "forest", "adaptive"])
def test_predictors_score_as_they_did(name):
    (case,) = read_cases([Path("recordings/matvec.parquet")])
    due = json.loads(Path("scores.json").read_text())[name]
    assert load(Path(f"{name}.predictor")).score(case.features).tolist() == due


def test_a_predictor_of_other_features_is_refused():
    with pytest.raises(InputError, match="on version 1, and this frontrunner has 4"):
        load(Path("version1.predictor"))


@pytest.mark.parametrize("name", ["lightgbm_splits", "forest_splits"])
def test_trees_with_many_leaves_score_as_they_did(name):
    (case,) = read_cases([RECORDINGS / "zen4" / "matmul_256x256x256_f32_f32_f32.parquet"])
    due = json.loads(Path("scores.json").read_text())[name]
    assert len(set(due)) > 10
    found = load(Path(f"{name}.predictor")).score(case.features.iloc[: len(due)])
    assert found.tolist() == pytest.approx(due)


def test_a_bundle_and_its_results(frontrunner):
    ran = frontrunner("bundle", "ingest", "mv.bundle", "results.jsonl", "--out", "there", "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["outcomes"] == {"ok": 3}
    ran = frontrunner("bundle", "ingest", "mv.bundle", "results.jsonl", "--out", "mv.parquet")
    assert ran.code == 0, ran.err
    assert "3 candidates" in ran.out
    ran = frontrunner("bundle", "run", "mv.bundle", "--out", "more.jsonl", "--device", "cuda")
    assert (ran.code, "does not run code for znver4" in ran.err) == (2, True), ran.err


def test_a_profile():
    header = json.loads(Path("sweep/profile.jsonl").read_text().splitlines()[0])
    common = {name: value for name, value in header.items() if name != "format"}
    with ProfileLog(Path("sweep/profile.jsonl"), common) as log:
        assert len(log.rows) == 3
        assert {row.outcome for row in log.rows.values()} == {"ok"}


def test_a_finished_network():
    result = frontrunner.resume_model("network", quiet=True)
    told = json.loads(Path("network/result.json").read_text())
    assert [row.name for row in result.dispatches] == [r["name"] for r in told["dispatches"]]
    assert result.baseline_us == told["baseline_us"]
