"""`frontrunner record`: what options come to. Recording itself is tested in `tests/experiments`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from frontrunner.benchmarks.measuring.budget import Budget
from frontrunner.cli import main
from frontrunner.core import InputError, NoRoomError, WorkError
from frontrunner.experiments.bundling import api as module
from frontrunner.experiments.bundling.record_result import RecordResult
from frontrunner.experiments.bundling.selection import Selection
from frontrunner.experiments.dataset import recording
from frontrunner.experiments.tuning.options import TuneOptions


@pytest.fixture
def asked(monkeypatch, tmp_path):
    asked = []

    def record(options, selection, devices, observer, say):
        asked.append((options, selection, devices))
        say("on the way")
        return RecordResult(
            options.out, "contraction", 600, 599, 3, 2.5, 0.05, options.seed != 9,
            {"uniform": 300, "adaptive": 200}, "adaptive", 0.125,
        )  # fmt: skip

    monkeypatch.setattr(module, "record_dispatch", record)
    monkeypatch.chdir(tmp_path)
    for name in ("a.mlir", "b.mlir"):
        Path(name).touch()
    Path("other").mkdir()
    Path("other/a.mlir").touch()
    return asked


def test_each_target_has_a_folder_of_its_own(asked, frontrunner):
    ran = frontrunner(*"record a.mlir b.mlir --out o --device vulkan".split(),
                      *"--target znver4 --target valhall4".split())  # fmt: skip
    assert ran.code == 0, ran.err
    assert [(options.target, options.out, devices) for options, _, devices in asked] == [
        (target, Path("o") / target / f"{name}.parquet", devices)
        for target, devices in [("znver4", ()), ("valhall4", ("vulkan",))]
        for name in "ab"
    ]
    assert "4 of 4 recordings are in o" in ran.out


def test_every_file_is_recorded(asked, frontrunner):
    ran = frontrunner(*"record a.mlir b.mlir --out o --candidates 70 --seed 4 --json".split(),
                      *"--device cuda://0 --device cuda://1 --target sm_80".split(),
                      *"--pipeline P --extra bank_padding --jobs 2".split(),
                      *"--top 5 --rankers heuristic,mine --rankers x.predictor".split(),
                      *"--adaptive 0".split())  # fmt: skip
    assert ran.code == 0, ran.err
    assert asked == [
        (
            TuneOptions(
                input=Path(f"{name}.mlir"), out=Path("o") / f"{name}.parquet", budget=Budget(70),
                target="sm_80", seed=4, jobs=2, pipeline="P", extras={"bank_padding": (0, 1)},
            ),
            Selection(5, 0, ("heuristic", "mine", "x.predictor")),
            ("cuda://0", "cuda://1"),
        )
        for name in "ab"
    ]  # fmt: skip
    first, second = json.loads(ran.out)["recordings"]
    assert (first["path"], second["path"]) == ("o/a.parquet", "o/b.parquet")
    assert ran.err.splitlines()[:3] == [
        "on the way",
        "o/a.parquet: 599 of 600 candidates ran, best 2.50x (adaptive), 3 near it",
        "  300 uniform, 200 adaptive; the best uniform one takes 12.5% longer",
    ]


def test_as_t4_beside_the_recording(asked, frontrunner, monkeypatch):
    written = []
    monkeypatch.setattr(recording.Recording, "read", lambda path: f"what is in {path}")
    monkeypatch.setattr(module, "write_t4", lambda *given: written.append(given))
    ran = frontrunner(*"record a.mlir b.mlir --out o --format t4 --json".split())
    assert ran.code == 0, ran.err
    assert written == [(f"what is in o/{name}.parquet", Path(f"o/{name}.t4.json")) for name in "ab"]
    first, _ = json.loads(ran.out)["recordings"]
    assert (first["path"], first["t4"]) == ("o/a.parquet", "o/a.t4.json")


def test_what_was_there_is_said(asked, frontrunner):
    ran = frontrunner(*"record a.mlir --out o --seed 9".split())
    assert ran.out.startswith("o/a.parquet: was there already, 599 of 600 candidates ran, best 2.5")
    assert [selection for _, selection, _ in asked] == [Selection(64, 200)]


WRONG, BROKEN = InputError("no such knob", "take another"), WorkError("it does not run")


@pytest.mark.parametrize(
    ("errors", "code"),
    [({"a": BROKEN}, 1), ({"a": WRONG}, 2), ({"a": WRONG, "b": BROKEN}, 1), ({"b": WRONG}, 2)],
)
def test_one_that_fails_does_not_keep_the_others_from_it(
    asked, frontrunner, monkeypatch, errors, code
):
    made = module.record_dispatch

    def record(options, *others):
        if error := errors.get(options.input.stem):
            raise error
        return made(options, *others)

    monkeypatch.setattr(module, "record_dispatch", record)
    Path("c.mlir").touch()
    ran = frontrunner(*"record a.mlir b.mlir c.mlir --out o --json".split())
    assert ran.code == code
    result = json.loads(ran.out)
    assert [r["path"] for r in result["recordings"]] == [
        f"o/{name}.parquet" for name in "abc" if name not in errors
    ]
    assert result["failed"] == [
        {"input": f"{name}.mlir", "message": str(error), "hint": error.hint}
        for name, error in errors.items()
    ]
    assert result["error"] == result["failed"][0]
    for name, error in errors.items():
        assert f"error: {name}.mlir: {error}\n" in ran.err


def test_of_a_file_with_several_the_function_that_fails_is_named(asked, frontrunner, monkeypatch):
    made = module.record_dispatch

    def record(options, *others):
        if options.function == "bad":
            raise BROKEN
        return made(options, *others)

    monkeypatch.setattr(module, "record_dispatch", record)
    function = "func.func @{}() {{ return }}\n"
    Path("two.mlir").write_text(function.format("good") + function.format("bad"))
    ran = frontrunner(*"record two.mlir --out o --json".split())
    assert (ran.code, "error: two.mlir, bad: it does not run\n" in ran.err) == (1, True)
    (failed,) = json.loads(ran.out)["failed"]
    assert failed["input"] == "two.mlir, bad"


@pytest.mark.parametrize(
    ("error", "said", "hint"),
    [
        (NoRoomError("the disk is full", "make room"), "the disk is full", "make room; "),
        (ValueError("a surprise"), "internal error: ValueError: a surprise", ""),
    ],
)
def test_what_no_dispatch_is_to_blame_for_ends_all_and_what_is_done_is_shown(
    asked, frontrunner, monkeypatch, error, said, hint
):
    made, begun = module.record_dispatch, []

    def record(options, *others):
        begun.append(options.input.stem)
        if begun[-1] == "b":
            raise error
        return made(options, *others)

    monkeypatch.setattr(module, "record_dispatch", record)
    Path("c.mlir").touch()
    ran = frontrunner(*"record a.mlir b.mlir c.mlir --out o --json".split())
    assert (ran.code, begun) == (1, ["a", "b"])
    assert f"error: {said}\n" in ran.err
    told = json.loads(ran.out)
    assert ([r["path"] for r in told["recordings"]], told["failed"]) == (["o/a.parquet"], [])
    assert told["error"] == {
        "message": str(error), "hint": f"{hint}the same command goes on from here"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--out o", "Missing argument"),
        ("a.mlir", "Missing option '--out'"),
        ("a.mlir --out a.mlir", "is a file"),
        ("a.mlir --out a.mlir/x", "cannot write"),
        ("a.mlir other/a.mlir --out o", "2 dispatches are called a"),
        ("a.mlir --out o --candidates 0", "0 is not in the range"),
        ("a.mlir --out o --candidates 20000000", "candidates must be from 1 to 10,000,000, got 2"),
        ("a.mlir --out o --top -1", "-1 is not in the range"),
        ("a.mlir --out o --adaptive -1", "-1 is not in the range"),
        ("a.mlir --out o --top 0 --rankers cpu", "of cpu, the first 0 candidates were asked for"),
        ("a.mlir --out o --extra x", "no knob 'x'"),
        ("a.mlir --out o --format csv", "'csv' is not one of 'parquet', 't4'"),
        ("gone.mlir --out o", "does not exist"),
    ],
)
def test_refused(asked, frontrunner, arguments, message):
    ran = frontrunner("record", *arguments.split())
    assert ran.code == 2
    assert message in ran.err
    assert not asked


@pytest.mark.parametrize("arguments", [["--json"], []])
def test_interrupted(asked, frontrunner, monkeypatch, arguments):
    made = module.record_dispatch

    def record(options, *others):
        if options.input.stem == "b":
            raise KeyboardInterrupt
        return made(options, *others)

    monkeypatch.setattr(module, "record_dispatch", record)
    ran = frontrunner("record", "a.mlir", "b.mlir", "--out", "o", *arguments)
    assert ran.code == 130
    assert "error: interrupted\nhint: the same command goes on from here\n" in ran.err
    if arguments:
        result = json.loads(ran.out)
        assert [r["path"] for r in result["recordings"]] == ["o/a.parquet"]
        assert result["error"]["message"] == "interrupted"


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_goes_on_when_nobody_listens(asked, monkeypatch, closed):
    made = module.record_dispatch

    def record(options, selection, devices, observer, say):
        observer.notify("working")
        if options.input.stem == "b":
            raise WRONG
        return made(options, selection, devices, observer, say)

    monkeypatch.setattr(module, "record_dispatch", record)
    Path("c.mlir").touch()
    read, write = os.pipe()
    os.close(read)
    with open(write, "w") as stream:
        monkeypatch.setattr(sys, closed, stream)
        main("record a.mlir b.mlir c.mlir --out o".split())
        assert [options.input.name for options, *_ in asked] == ["a.mlir", "c.mlir"]
        os.dup2(os.open(os.devnull, os.O_WRONLY), write)
