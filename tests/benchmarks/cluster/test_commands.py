"""What is recorded, profiled and tuned as a whole on a cluster: the same as here."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import frontrunner
from frontrunner.benchmarks.cluster import client
from frontrunner.core import InputError
from frontrunner.experiments.fuzz import make_cache

DATA = Path(__file__).parents[2] / "data"
MATMUL = DATA / "matmul.mlir"

pytestmark = pytest.mark.usefixtures("brief", "untracked")


def check_recording(path: Path) -> None:
    found = frontrunner.read_recording(path)
    (kind,) = found.provenance.devices.values()
    assert kind.startswith("local-task on ")
    assert set(found.frame["device"]) == {"measuring/local-task"}
    assert (found.frame["kind"] == "ok").all()


@pytest.mark.slow
def test_recording(address: str, tmp_path: Path) -> None:
    given = {"cluster": address, "devices": ["measuring/local-task"], "quiet": True}
    drawn = {"candidates": 3, "top": 1, "rankers": ["heuristic"], "adaptive": 2}
    made = frontrunner.record(MATMUL, tmp_path, **drawn, **given)
    check_recording(made.path)
    assert {"uniform", "top:heuristic", "adaptive"} <= {*made.origins}
    assert not frontrunner.record(MATMUL, tmp_path, **drawn, **given).new


@pytest.mark.slow
def test_recording_several_at_a_time(
    address: str, tmp_path: Path, run_words: Callable[..., Any]
) -> None:
    """In processes of their own; one that fails does not keep the others from it."""
    broken = tmp_path / "broken.mlir"
    broken.write_text("func.func @f() {")
    words = f"--candidates 1 --top 0 --adaptive 0 --out {tmp_path} --cluster {address} --json"
    ran = run_words("record", MATMUL, broken, DATA / "matmul_odd.mlir", *words.split())
    assert ran.code == 2
    told = json.loads(ran.out)
    assert [Path(one["path"]).stem for one in told["recordings"]] == ["matmul", "matmul_odd"]
    assert [Path(one["input"]) for one in told["failed"]] == [broken]
    for one in told["recordings"]:
        check_recording(Path(one["path"]))


def test_profiling(address: str, tmp_path: Path) -> None:
    frontrunner.generate("matmul", m=[8, 16], n=8, k=8, out=tmp_path)
    given = {"cluster": address, "device": "measuring/local-task", "quiet": True}
    found = frontrunner.profile(tmp_path, **given)
    assert [(row.outcome, row.verification, row.provider) for row in found.rows] == [
        ("ok", "passed", "iree")
    ] * 2
    assert found.peak is None
    before = (tmp_path / "profile.jsonl").read_bytes()
    frontrunner.profile(tmp_path, **given)
    assert (tmp_path / "profile.jsonl").read_bytes() == before
    for wrong, says in (
        ({"providers": "numpy"}, "numpy run on this machine"),
        ({"compile_only": True}, "compiling alone needs no cluster"),
    ):
        with pytest.raises(InputError, match=says):
            frontrunner.profile(tmp_path, **{**given, **wrong})


@pytest.mark.slow
def test_a_whole_model(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_weights: Callable[..., Any]
) -> None:
    """Its weights travel in pieces."""
    monkeypatch.setattr(client, "PIECE_BYTES", 1 << 10)
    monkeypatch.setattr("frontrunner.benchmarks.cluster.remote_child.PIECE_BYTES", 1 << 10)
    model, archive = make_weights(tmp_path)
    run, file = tmp_path / "run", tmp_path / "options.toml"
    file.write_text('plain = ["--iree-llvmcpu-debug-symbols=false"]\n')
    result = frontrunner.tune_model(
        model, parameters={"model": archive}, options=file, minutes=2, pool=20, out=run,
        cluster=address, device="measuring/local-task", quiet=True,
    )  # fmt: skip
    (row,) = (row for row in result.dispatches if row.candidates)
    assert row.name == "dispatch_0_matmul_16x96x64_f32"
    lines = (run / "runs" / row.name / "outcomes.jsonl").read_text().splitlines()
    assert {json.loads(line)["device"] for line in lines} == {"measuring/local-task"}
    assert "cluster" not in json.loads((run / "model.json").read_text())["options"]
    (run / "result.json").unlink()
    with pytest.raises(InputError, match="was measured on a cluster"):
        frontrunner.resume_model(run, options=file, quiet=True)
    again = frontrunner.resume_model(run, cluster=address, options=file, quiet=True)
    assert again.dispatches


@pytest.mark.slow
def test_two_kinds_of_devices_work_at_once(
    address: str, start_worker: Callable[..., Any], brief_command: list[str], tmp_path: Path
) -> None:
    """Each run has the devices of a kind, each device its own baseline."""
    uris = ("local-task", "local-sync")
    start_worker("--join", address, *(f"--device={uri}" for uri in uris), "--name", "both")
    # It logs to MLflow in vain.
    environment = {**os.environ, "MLFLOW_TRACKING_URI": "sqlite:////proc/no/mlflow.db"}

    def tune(uri: str) -> list[Any]:
        """In a process of its own: Z3 crashes where two threads use it."""
        words = ["--ranker=heuristic", "--pool=100", "--budget=3", f"--device=both/{uri}"]
        command = [*brief_command, "tune", str(MATMUL), *words]
        out = tmp_path / uri
        subprocess.run([*command, "--cluster", address, "--out", out], check=True, env=environment)
        return [json.loads(line) for line in (out / "outcomes.jsonl").open()]

    with ThreadPoolExecutor(2) as threads:
        for uri, outcomes in zip(uris, threads.map(tune, uris), strict=True):
            assert [one["device"] for one in outcomes] == [f"both/{uri}"] * 3
            assert all(one["baseline_us"] > 0 for one in outcomes)


@pytest.mark.slow
def test_evaluating(address: str, tmp_path: Path) -> None:
    """By joblib's Dask backend: the figures of this machine's processes."""
    files = [tmp_path / f"convolution_{number}.json" for number in range(2)]
    for number, file in enumerate(files):
        file.write_text(json.dumps(make_cache(f"chip {number}", slower=1.0 + number)))
    given = {"rankers": ["forest:trees=3"], "holdout": "device", "seeds": 1, "mlflow": False}
    there = frontrunner.evaluate(
        files, cluster=address, out=tmp_path / "there", quiet=True, **given
    )
    here = frontrunner.evaluate(files, out=tmp_path / "here", quiet=True, **given)
    pd.testing.assert_frame_equal(there.cases, here.cases)
    with pytest.raises(InputError, match="2 processes are asked for, and a cluster"):
        frontrunner.evaluate(files, cluster=address, jobs=2, quiet=True, **given)


@pytest.fixture
def run_words(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """The fixture `frontrunner`, whose name is the package's."""
    found: Callable[..., Any] = request.getfixturevalue("frontrunner")
    return found


@pytest.fixture
def make_weights() -> Callable[[Path], tuple[Path, Path]]:
    """Writes a product with a constant of a parameter archive."""
    rt = pytest.importorskip("iree.runtime")

    def make(folder: Path) -> tuple[Path, Path]:
        model, archive = folder / "weights.mlir", folder / "weights.irpa"
        model.write_text((DATA / "models" / "weights.mlir").read_text())
        index = rt.ParameterIndex()
        values = np.random.default_rng(0).standard_normal((64, 96), np.float32)
        index.add_buffer("w", values)
        index.add_buffer("other", np.ones(3, np.float32))
        index.create_archive_file(str(archive))
        return model, archive

    return make
