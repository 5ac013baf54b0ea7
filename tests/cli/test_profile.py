"""`frontrunner profile`."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from frontrunner.benchmarks.operations import Attention, Matmul
from frontrunner.experiments import bench
from frontrunner.experiments.generate import generate
from frontrunner.experiments.progress import NullProgress

SMALL = Matmul(8, 12, 16)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(bench, "SECONDS", 0.001)
    generate([SMALL, Attention(1, 4, 4, 4)], tmp_path / "d", None, NullProgress())
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
    given = ("--dispatches", "^matmul_8,nothing|atten", "--providers", "none", "--no-verify")
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


def test_a_wrong_result_is_told_and_fails(frontrunner, folder):
    path = folder / SMALL.name / f"{SMALL.name}.mlir"
    path.write_text(path.read_text().replace("0.0", "1.0"))
    ran = frontrunner("profile", folder, "--providers", "none", "--json")
    assert ran.code == 1
    data = json.loads(ran.out)
    assert data["failed"] == 1
    assert [r["outcome"] for r in data["rows"]] == ["ok", "wrong_result"]
    assert "1 failed; see" in ran.err
    assert (folder / "profile-failures" / f"{SMALL.name}--default" / "reproduce.sh").exists()
    # What is kept of failures is not taken for dispatches.
    assert len(json.loads(frontrunner("profile", folder, "--json").out)["rows"]) > 2
    assert "source" not in (folder / "profile.csv").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--dispatches (", "'(' is no regular expression"),
        ("--dispatches matmull", "'matmull' matches none of 2 dispatches"),
        ("--dispatches matmul,conv", "'conv' matches none"),
        ("--providers numpi", "no library 'numpi'"),
        ("--output data.txt", "is to be a table"),
        ("--output none/data.csv", "there is no folder none"),
        ("--output /proc/data.csv", "cannot write to /proc"),
        ("--device abacus", "unknown device 'abacus'"),
        ("--device cuda", "does not run code for host"),
        ("--target znver9", "unknown target 'znver9'"),
        ("--jobs 0", "0 is not in the range"),
    ],
)
def test_bad_input(frontrunner, folder, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    ran = frontrunner("profile", folder, *arguments.split())
    assert ran.code == 2, ran.err
    assert message in ran.err
    hint = "hint:" in ran.err
    assert len([line for line in ran.err.splitlines() if line.startswith("error:")]) == 1
    assert hint


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
