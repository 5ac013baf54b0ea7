"""`--iree-flag`: the compiler takes it, files tell it, and none of them is trusted with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parents[1] / "data"
MATMUL = DATA / "matmul.mlir"
# It changes every executable.
FLAG = "--iree-flag=--iree-llvmcpu-debug-symbols=false"

pytestmark = pytest.mark.usefixtures("brief", "untracked")


@pytest.mark.slow
def test_a_run_goes_on_with_the_flags_that_it_was_started_with(
    tmp_path: Path, frontrunner: Callable[..., Any]
) -> None:
    out, given = tmp_path / "run", ("--pool=64", "--budget=2", "--ranker=heuristic")
    assert frontrunner("tune", str(MATMUL), "--out", str(out), FLAG, *given).code == 0
    dispatch = json.loads((out / "run.json").read_text())["dispatch"]
    assert dispatch["target"]["iree_flags"] == ["--iree-llvmcpu-debug-symbols=false"]
    (out / "result.json").unlink()
    refused = frontrunner("tune", "--resume", str(out), "--budget=3")
    assert refused.code == 2
    assert "was compiled with other flags: --iree-llvmcpu-debug-symbols=false" in refused.err
    assert "give the same --iree-flag options" in refused.err
    resumed = frontrunner("tune", "--resume", str(out), "--budget=3", FLAG, "--json")
    assert json.loads(resumed.out)["candidates"] == 3


@pytest.mark.slow
def test_packing_and_recording_tell_flags(
    tmp_path: Path, frontrunner: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recording with other flags is of something else."""
    monkeypatch.chdir(tmp_path)
    drawn = ("--candidates=2", "--top=0", "--adaptive=0")
    record = ("record", str(MATMUL), "--out", "recordings", *drawn)
    assert frontrunner(*record, FLAG).code == 0
    other = frontrunner(*record)
    assert other.code == 2
    assert "recordings/matmul.parquet is a recording of another set of compiler flags" in other.err
    packed = frontrunner("bundle", "pack", str(MATMUL), "--out=b.zip", "--budget=2", FLAG)
    assert packed.code == 0
    assert frontrunner("bundle", "run", "b.zip").code == 0
    refused = frontrunner("bundle", "ingest", "b.zip", "results.jsonl", "--out=a.parquet")
    assert refused.code == 2
    assert "b.zip was compiled with other flags" in refused.err
    assert (
        frontrunner("bundle", "ingest", "b.zip", "results.jsonl", "--out=a.parquet", FLAG).code == 0
    )


def test_flags_that_a_target_notes(frontrunner: Callable[..., Any]) -> None:
    flag = "--iree-flag=--iree-rocm-waves-per-eu=2"
    ran = frontrunner("space", DATA / "matmul_f16.mlir", "--target", "gfx942", flag)
    assert ran.code == 0, ran.err


@pytest.mark.parametrize("command", ["tune", "space", "record", "tune-model", "profile"])
def test_what_the_compiler_does_not_know_is_refused_in_a_line(
    command: str, tmp_path: Path, frontrunner: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = {"record": ["--out=recordings"], "profile": ["--output=p.csv"]}.get(command, [])
    ran = frontrunner(command, str(MATMUL), "--iree-flag=--no-such-flag", *place)
    error, hint = ran.err.strip().splitlines()[-2:]
    assert ran.code == 2
    assert error.endswith("the compiler has no flag --no-such-flag")
    assert hint.startswith("hint: `iree-compile --help-list-hidden` names them")
