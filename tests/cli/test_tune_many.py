"""`frontrunner tune` of several files, and of several functions of one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from frontrunner.core.errors import NoRoomError, WorkError
from frontrunner.experiments import reporting, tuning
from frontrunner.experiments.interrupted import RunInterrupted

PRODUCT = """func.func @{name}(%a: tensor<8x{k}xf32>, %b: tensor<{k}x8xf32>) -> tensor<8x8xf32> {{
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = linalg.matmul ins(%a, %b : tensor<8x{k}xf32>, tensor<{k}x8xf32>)
      outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}}
"""
FEW = ("--budget", 1, "--pool", 4, "--jobs", 1)


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch, brief, untracked, warm):
    monkeypatch.chdir(tmp_path)
    one, two = (PRODUCT.format(name=name, k=k) for name, k in (("one", 16), ("two", 32)))
    Path("both.mlir").write_text(f"{one}// -----\n{two}")
    Path("single.mlir").write_text(one)
    Path("wrong.mlir").write_text("func.func @main() { return }")


@pytest.mark.parametrize(
    ("error", "begun"),
    [(NoRoomError("the disk is full", "make room"), 2), (WorkError("it crashed"), 3)],
)
def test_what_no_dispatch_is_to_blame_for_ends_all_and_what_is_done_is_shown(
    error, begun, frontrunner, monkeypatch
):
    tune, files = tuning.tune, []

    def second_fails(file, **options):
        files.append(file)
        if len(files) == 2:
            raise error
        return tune(file, **options)

    monkeypatch.setattr(tuning, "tune", second_fails)
    shutil.copy("single.mlir", "third.mlir")
    ran = frontrunner("tune", "both.mlir", "third.mlir", *FEW, "--json")
    assert (ran.code, len(files)) == (1, begun)
    told = json.loads(ran.out)
    assert [run["input"] for run in told["runs"]] == ["both-one", "third"][: begun - 1]
    assert told["error"]["message"] == str(error)
    assert told["error"]["hint"] == ("make room; not begun: third" if begun == 2 else "")
    assert ("not begun: third" in ran.err) == (begun == 2)


@pytest.mark.slow
def test_each_function_has_a_run_of_its_own(frontrunner):
    ran = frontrunner("tune", "both.mlir", *FEW, "--json")
    assert ran.code == 0, ran.err
    told = json.loads(ran.out)
    assert [run["input"] for run in told["runs"]] == ["both-one", "both-two"]
    for run in told["runs"]:
        assert Path(run["run"], "result.json").exists()
        assert Path(run["report"]).exists()
    assert "2 of 2: both-two" in ran.err
    assert ran.err.count("both-one") >= 2  # at the end, there is a table
    made = json.loads(Path("runs/both-two-1/run.json").read_text())
    assert made["options"]["function"] == "two"

    again = frontrunner("tune", "--resume", "runs/both-two-1", "--budget", 2)
    assert again.code == 0, again.err


def test_ctrl_c_while_a_page_is_drawn_ends_it_all(frontrunner, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(reporting, "report", interrupt)
    ran = frontrunner("tune", "both.mlir", *FEW, "--json")
    assert ran.code == 130
    told = json.loads(ran.out)
    assert [run["input"] for run in told["runs"]] == ["both-one"]
    assert told["error"]["hint"] == "not begun: both-two"


def test_each_target_has_a_run_of_its_own(frontrunner):
    targets = ("--target", "znver3", "--target", "sm_80")
    ran = frontrunner("tune", "single.mlir", *targets, "--compile-only", *FEW, "--json")
    assert ran.code == 0, ran.err
    runs = json.loads(ran.out)["runs"]
    assert [run["input"] for run in runs] == ["single-znver3", "single-sm_80"]
    made = [json.loads(Path(run["run"], "run.json").read_text()) for run in runs]
    assert [one["options"]["target"] for one in made] == ["znver3", "sm_80"]


def test_only_one_of_them(frontrunner):
    ran = frontrunner("tune", "both.mlir", "--function", "two", *FEW, "--out", "run", "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["candidates"] == 1


def test_one_that_fails_does_not_keep_the_others(frontrunner):
    ran = frontrunner("tune", "wrong.mlir", "single.mlir", *FEW, "--out", "all", "--json")
    assert ran.code == 2
    told = json.loads(ran.out)
    assert [run["input"] for run in told["runs"]] == ["single"]
    assert [one["input"] for one in told["failed"]] == ["wrong"]
    assert Path("all/single/result.json").exists()


def test_ctrl_c_tells_what_was_not_begun(frontrunner, monkeypatch):
    def interrupt(*_, **__):
        raise RunInterrupted(Path("runs/wrong-1"))

    monkeypatch.setattr(tuning.api, "start_run", interrupt)
    failures = ("--keep-failures", "failed")
    ran = frontrunner("tune", "wrong.mlir", "single.mlir", *failures, "--json")
    assert ran.code == 130
    hint = json.loads(ran.out)["error"]["hint"]
    again = "frontrunner tune --resume runs/wrong-1 --keep-failures failed/wrong"
    assert f"continue with: {again};" in hint
    assert hint.endswith("not begun: single")


def test_ctrl_c_before_there_is_a_folder(frontrunner, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(tuning.api, "start_run", interrupt)
    ran = frontrunner("tune", "wrong.mlir", "single.mlir", "--json")
    assert ran.code == 130
    assert json.loads(ran.out)["error"]["hint"] == "not begun: wrong, single"


def test_of_a_folder_of_several_runs_it_is_told_where_the_others_go(frontrunner, monkeypatch):
    def interrupt(*_, **__):
        raise RunInterrupted(Path("my runs/wrong"))

    monkeypatch.setattr(tuning.api, "start_run", interrupt)
    ran = frontrunner("tune", "wrong.mlir", "single.mlir", "--out", "my runs", "--json")
    hint = json.loads(ran.out)["error"]["hint"]
    assert hint.endswith("not begun: single (--out 'my runs'/NAME for each)")
    # It is no run itself, which could go on.
    Path("my runs/wrong").mkdir(parents=True)
    ran = frontrunner("tune", "single.mlir", "--out", "my runs")
    assert (ran.code, ran.err.splitlines()[-1]) == (2, "hint: name a new folder")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("both.mlir single.mlir --function one", "--function is of one file, and 2 are given"),
        ("single.mlir ./single.mlir", "2 dispatches are called single"),
        ("single.mlir both.mlir --out full", "--out: full is not empty"),
        ("both.mlir --function three", "no function 'three'"),
        ("single.mlir --target host --target host", "--target host is given twice"),
        ("single.mlir --target host --target vulkan --device cuda", "code for host or vulkan"),
        ("single.mlir both.mlir --resume runs", "there is no folder runs"),
    ],
)
def test_refused(frontrunner, words, message):
    Path("full").mkdir()
    Path("full/kept").touch()
    ran = frontrunner("tune", *words.split())
    assert ran.code == 2
    assert message in ran.err
    assert not Path("runs").exists()
