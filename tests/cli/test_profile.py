"""`frontrunner profile`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest

from frontrunner.benchmarks.compiling import CompilePool
from frontrunner.benchmarks.measuring import CompileOutcome
from frontrunner.benchmarks.operations import Attention, Matmul
from frontrunner.core import NoRoomError
from frontrunner.experiments.observing.progress import Observer
from frontrunner.experiments.profiling import bench
from frontrunner.experiments.profiling.generation import write_dispatches

SMALL = Matmul(8, 12, 16)


@pytest.fixture
def folder(tmp_path: Path, brief: None) -> Path:
    write_dispatches([SMALL, Attention(1, 4, 4, 4)], tmp_path / "d", None, Observer())
    return tmp_path / "d"


def test_a_table_for_people_machines_and_spreadsheets(frontrunner, folder):
    ran = frontrunner("profile", folder, "--providers", "numpy", "--json")
    assert ran.code == 0, ran.err
    rows = json.loads(ran.out)["rows"]
    assert [(r["operation"][:6], r["provider"], r["verification"]) for r in rows] == [
        ("attent", "iree", "passed"),
        ("attent", "numpy", "passed"),
        ("matmul", "iree", "passed"),
        ("matmul", "numpy", "passed"),
    ]
    assert all(r["roofline_share"] > 0 and r["noise"] is not None for r in rows)
    assert "4 rows: 4 ok; written to" in ran.err
    assert len(pd.read_csv(folder / "profile.csv")) == 4
    assert len(pd.read_parquet(folder / "profile.parquet")) == 4
    # Again: nothing is measured, and the figures are those of before.
    again = frontrunner("profile", folder, "--providers", "numpy", "--json")
    assert json.loads(again.out)["rows"] == rows
    assert "compiling" not in again.err


def test_a_part_of_the_dispatches(frontrunner, folder, tmp_path):
    out = tmp_path / "part.csv"
    given = (
        "--dispatches",
        "^matmul_8x\\d{1,2}x,nothing|atten",
        "--providers",
        "none",
        "--no-verify",
    )
    ran = frontrunner("profile", folder, *given, "--output", out)
    assert ran.code == 0, ran.err
    assert list(pd.read_csv(out).verification) == ["not asked for"] * 2
    assert not (folder / "profile.csv").exists()
    # Other options are another profile, unless it starts anew.
    ran = frontrunner("profile", folder, "--output", out, "--providers", "none")
    assert ran.code == 2
    assert "holds a profile with another verify: False, not True" in ran.err
    given = ("--dispatches", "matmul", "--providers", "none")
    assert frontrunner("profile", folder, *given, "--output", out, "--force").code == 0
    assert list(pd.read_csv(out).verification) == ["passed"]
    # A part that is profiled later is added to what is there.
    given = ("--dispatches", "attention", "--providers", "none", "--json")
    ran = frontrunner("profile", folder, *given, "--output", out)
    assert [r["operation"][:6] for r in json.loads(ran.out)["rows"]] == ["attent"]
    assert list(pd.read_csv(out).verification) == ["passed"] * 2
    # So is a file by itself.
    (file,) = folder.glob("matmul*/*.mlir")
    assert frontrunner("profile", file, "--providers", "none", "--output", out).code == 0
    assert {*pd.read_csv(out).operation.str[:6]} == {"attent", "matmul"}


def test_a_wrong_result_is_told_and_fails(frontrunner, folder):
    path = folder / SMALL.name / f"{SMALL.name}.mlir"
    path.write_text(path.read_text().replace("0.0", "1.0"))
    ran = frontrunner("profile", folder, "--providers", "none", "--json")
    assert ran.code == 1
    data = json.loads(ran.out)
    assert data["failed"] == 1
    assert [r["outcome"] for r in data["rows"]] == ["ok", "wrong_result"]
    assert "1 failed, for the reasons in" in ran.err
    assert (folder / "profile-failures" / f"{SMALL.name}--default" / "reproduce.sh").exists()
    # What is kept of failures is not taken for dispatches.
    again = json.loads(frontrunner("profile", folder, "--providers", "none", "--json").out)
    assert [r["operation"] for r in again["rows"]] == [r["operation"] for r in data["rows"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--dispatches (", "'(' is no regular expression"),
        ("--dispatches a{99999999999}", "is no regular expression"),
        ("--dispatches matmul,", "'' is no regular expression: it is empty"),
        ("--dispatches matmull", "'matmull' matches none of 2 dispatches"),
        ("--dispatches matmul,conv", "'conv' matches none"),
        ("--dispatches [8,9]x[1", "'[8,9]x[1' is no regular expression"),
        ("--providers numpi", "no library 'numpi'"),
        ("--providers none,numpy", "none,numpy is none, and others"),
        ("--providers numpy --no-profile", "--providers does nothing with --no-profile"),
        ("--compile-only --verify", "do nothing with --compile-only"),
        ("--compile-only --profile", "do nothing with --compile-only"),
        ("--compile-only --providers numpy", "do nothing with --compile-only"),
        ("--device local-task://x", "unknown device 'local-task://x'"),
        ("--output data.txt", "is to be a table"),
        ("--output none/data.csv", "there is no folder none"),
        ("--output=", "--out is empty"),
        ("--output /proc/data.csv", "cannot write to /proc"),
        ("--device abacus", "unknown device 'abacus'"),
        ("--device cuda", "does not run code for host"),
        ("--target znver9", "unknown target 'znver9'"),
        ("--jobs 0", "0 is not in the range"),
    ],
)
def test_bad_input(frontrunner, folder, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    before = sorted(p.name for p in folder.iterdir())
    ran = frontrunner("profile", folder, *arguments.split())
    assert ran.code == 2, ran.err
    assert message in ran.err
    hint = "hint:" in ran.err
    assert len([line for line in ran.err.splitlines() if line.startswith("error:")]) == 1
    assert hint
    assert sorted(p.name for p in folder.iterdir()) == before
    # With --force, nothing is lost either.
    (folder / "profile.jsonl").write_text("mine")
    assert frontrunner("profile", folder, *arguments.split(), "--force").code == 2
    assert (folder / "profile.jsonl").read_text() == "mine"


def test_failures_with_a_link_among_them_are_refused(frontrunner, folder, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    failures = folder / "profile-failures"
    failures.mkdir()
    (failures / "log").symlink_to(elsewhere)
    ran = frontrunner("profile", folder, "--compile")
    assert ran.code == 2
    assert "log is no file of its own" in ran.err
    assert not (folder / "profile.jsonl").exists()
    assert elsewhere.read_text() == "mine"


def test_started_anew_and_interrupted(frontrunner, folder, monkeypatch):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    given = ("profile", folder, "--providers", "none", "--no-verify")
    assert frontrunner(*given).code == 0
    before = (folder / "profile.jsonl").read_bytes()
    monkeypatch.setattr(bench.Bench, "run", interrupted)
    ran = frontrunner(*given, "--force")
    assert ran.code == 130
    assert "hint: nothing was measured; give the same command again\n" in ran.err
    assert (folder / "profile.jsonl").read_bytes() == before
    monkeypatch.undo()
    done = bench.Bench._measured

    def measured(self, *arguments):
        monkeypatch.setattr(bench.Bench, "_measured", interrupted)
        return done(self, *arguments)

    monkeypatch.setattr(bench.Bench, "_measured", measured)
    ran = frontrunner(*given, "--force")
    assert "what was measured is kept; give the same command again, without --force" in ran.err
    assert len(pd.read_csv(folder / "profile.csv")) == 1


def test_close_names_are_told(frontrunner, folder):
    ran = frontrunner("profile", folder, "--dispatches", "matmul_8x12x17_f32_f32_f32")
    assert f"there are, among others: {SMALL.name}" in ran.err


def test_no_dispatches(frontrunner, tmp_path):
    ran = frontrunner("profile", tmp_path)
    assert (ran.code, "holds no dispatch" in ran.err) == (2, True)
    (tmp_path / "profile.csv").write_text("mine")
    (tmp_path / "a.mlir").write_text(SMALL.mlir())
    ran = frontrunner("profile", tmp_path)
    assert (ran.code, "profile.csv is there" in ran.err) == (2, True)
    assert (tmp_path / "profile.csv").read_text() == "mine"


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_measured(folder, brief_command):
    """Really sent, once two rows are on disk; of the last, the process may not know yet."""
    log = folder / "profile.jsonl"
    write_dispatches([Matmul(m, 8, 8) for m in range(8, 18)], folder, None, Observer())
    given = ["profile", str(folder), "--providers", "none"]
    command = [sys.executable, "-m", "frontrunner", *given]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        while process.poll() is None and not (log.exists() and log.read_text().count('"row"') > 1):
            with suppress(subprocess.TimeoutExpired):  # what is measured needs both cores
                process.wait(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert process.returncode == 130
    assert "what was measured is kept; give the same command again" in err
    rows = log.read_text().count('"row"')
    assert rows < 12
    assert len(pd.read_csv(folder / "profile.csv")) in (rows - 1, rows)
    again = subprocess.run(
        [*brief_command, *given], capture_output=True, text=True, env=environment
    )
    assert again.returncode == 0, again.stderr
    assert log.read_text().count('"row"') == 12


def test_compiling_alone_keeps_modules_and_logs(frontrunner, folder):
    (folder / "broken").mkdir()
    broken = SMALL.mlir().replace("ins(%lhs, %rhs", "ins(%rhs, %lhs")
    (folder / "broken" / "broken.mlir").write_text(broken)
    ran = frontrunner("profile", folder, "--compile", "--keep-vmfb", "--json")
    assert ran.code == 1
    rows = {r["operation"]: r for r in json.loads(ran.out)["rows"]}
    assert rows["broken"]["outcome"] == "refused"
    assert rows[SMALL.name]["compile_s"] > 0 and rows[SMALL.name]["time_us"] is None
    vmfb = folder / SMALL.name / "default.vmfb"
    assert vmfb.read_bytes()[:4] and (folder / SMALL.name / f"{SMALL.name}.mlir").exists()
    # Of others' dispatches in one folder, each has a module of its own.
    for name in ("a", "b"):
        (folder / f"{name}.mlir").write_text(SMALL.mlir())
    frontrunner("profile", folder, "--compile", "--keep-vmfb", "--json")
    assert {path.name for path in folder.glob("*.vmfb")} == {"a-default.vmfb", "b-default.vmfb"}
    # What was compiled with other flags is not this profile's.
    before = vmfb.read_bytes()
    vmfb.write_bytes(b"of other flags")
    frontrunner("profile", folder, "--compile", "--keep-vmfb", "--json")
    assert vmfb.read_bytes() == before
    # Timing is another profile.
    again = frontrunner("profile", folder, "--providers", "none")
    assert "holds a profile with another" in again.err
    refused = frontrunner("profile", folder, "--compile", "--device", "local-sync", "--force")
    assert refused.code == 2 and "which runs nothing" in refused.err


def test_a_module_that_there_is_no_room_for_is_told_and_not_there(frontrunner, folder, monkeypatch):
    def full(path, data):
        raise NoRoomError(f"cannot write {path}: No space left on device", "make room")

    monkeypatch.setattr(bench, "write_atomically", full)
    given = ("--compile", "--keep-vmfb", "--dispatches", "matmul", "--json")
    ran = frontrunner("profile", folder, *given)
    assert [r["outcome"] for r in json.loads(ran.out)["rows"]] == ["ok"]
    assert "default.vmfb is not kept: cannot write" in ran.err
    assert not list(folder.rglob("*.vmfb"))


@pytest.mark.usefixtures("latin_1")
def test_logs_may_hold_any_text_in_any_locale(frontrunner, folder, monkeypatch):
    def fails(self, child, job):
        return CompileOutcome("compile_failed", Path(job.name), reason="no…", log="such ‘tile’")

    monkeypatch.setattr(CompilePool, "_compile_once", fails)
    given = ("--compile", "--keep-vmfb", "--dispatches", "matmul", "--json")
    ran = frontrunner("profile", folder, *given)
    assert [r["outcome"] for r in json.loads(ran.out)["rows"]] == ["compile_failed"]
    log = folder / SMALL.name / "default.log"
    assert log.read_text(encoding="utf-8") == "no…\nsuch ‘tile’\n"
    log.unlink()
    assert frontrunner("profile", folder, *given[:1], *given[2:]).code == 1
    assert not log.exists()
    assert frontrunner("profile", folder, *given).code == 1
    assert log.exists()


def test_a_target_without_a_device_here_is_compiled(frontrunner, folder):
    given = ("--compile", "--target", "gfx942", "--dispatches", "matmul", "--json")
    ran = frontrunner("profile", folder, *given)
    assert ran.code == 0, ran.err
    assert [r["outcome"] for r in json.loads(ran.out)["rows"]] == ["ok"]


def test_verifying_alone(frontrunner, folder):
    ran = frontrunner("profile", folder, "--no-profile", "--json")
    assert ran.code == 0, ran.err
    rows = json.loads(ran.out)["rows"]
    assert [(r["provider"], r["verification"]) for r in rows] == [("iree", "passed")] * 2
    assert [r["time_us"] for r in rows] == [None] * 2
    refused = frontrunner("profile", folder, "--no-profile", "--no-verify", "--force")
    assert refused.code == 2
    assert "nothing is to be done" in refused.err


def test_blocks(frontrunner, folder):
    given = ("--format", "block", "--dispatches", "matmul", "--providers", "none")
    ran = frontrunner("profile", folder, *given)
    assert ran.code == 0, ran.err
    told = dict(line.split(":", 1) for line in ran.out.splitlines() if ":" in line)
    told = {name: value.strip() for name, value in told.items()}
    assert (told["Operation"], told["Kind"], told["Provider"]) == (SMALL.name, "matmul", "iree")
    assert told["Arguments"] == "m=8, n=12, k=16 (f32,f32,f32)"
    assert told["Verification"] == "passed"
    assert told["Runtime"].split()[1] == "µs"
    # On a busy machine, so small a product may have 0.0 of these.
    assert float(told["Runtime"].split()[0].replace(",", "")) > 0
    assert float(told["GFLOP/s"].split(",")[0]) >= 0
