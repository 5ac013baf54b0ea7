"""`frontrunner bundle`: what options come to. Round trips are in `tests/experiments`."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pandas as pd
import pytest

from frontrunner.benchmarks.bundle.results import BundleResult
from frontrunner.benchmarks.measuring.budget import Budget
from frontrunner.benchmarks.measuring.finals import FinalistResult, Finals
from frontrunner.cli.space import OWN
from frontrunner.experiments.bundling.packing import PackResult
from frontrunner.experiments.tuning.options import TuneOptions

packing = importlib.import_module("frontrunner.experiments.bundling.packing")
bundle_runner = importlib.import_module("frontrunner.benchmarks.bundle.run")

WINNER = FinalistResult(4, 1.5, (1.4, 1.6), 20.0)
VERDICT = BundleResult(Finals((WINNER,), 30.0, 0.02), WINNER, 9, "budget of 9 candidates", 5.0)


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """What the work was asked for; nothing is done."""
    asked = []

    def pack(options, observer):
        asked.append(options)
        return PackResult(options.out, "ab", "mm", "sm_90", 5, {"ok": 5}, 4, 1_500_000, (0.5, 0.75))

    def run_bundle(path, devices, out, budget, say, *, record, keep_valid):
        asked.append((path, devices, out, budget, record, keep_valid))
        say("on the way")
        return VERDICT

    monkeypatch.setattr(packing, "pack", pack)
    monkeypatch.setattr(bundle_runner, "run_bundle", run_bundle)
    monkeypatch.chdir(tmp_path)
    for name in ("mm.mlir", "mm.bundle", "r.jsonl"):
        Path(name).touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "log").touch()
    return asked


def test_pack(asked, frontrunner):
    ran = frontrunner("bundle", "pack", "mm.mlir", "--out", "new.bundle")
    assert ran.code == 0, ran.err
    ran = frontrunner(
        *"bundle pack mm.mlir --out o --budget 5 --ranker shuffle --target sm_90 --jobs 2".split(),
        *"--pool 77 --seed 9 --json".split(),
    )
    assert ran.code == 0, ran.err
    given = {"input": Path("mm.mlir"), "devices": ()}
    assert asked == [
        TuneOptions(**given, out=Path("new.bundle"), budget=Budget(64)),
        TuneOptions(
            **given, out=Path("o"), budget=Budget(5), ranker="shuffle", target="sm_90", jobs=2,
            pool=77, seed=9,
        ),
    ]  # fmt: skip
    answer = json.loads(ran.out)
    assert (answer["bundle"], answer["candidates"], answer["executables"]) == ("o", 5, 4)
    assert answer["compile_s"] == 1.25
    assert "python o --device URI" in ran.err.splitlines()[-1]


def test_run(asked, frontrunner):
    assert frontrunner("bundle", "run", "mm.bundle").code == 0
    ran = frontrunner(
        *"bundle run mm.bundle --device cuda://0 --device cuda://1 --out r.jsonl".split(),
        *"--budget 9 --minutes 1.5 --record --keep-valid --json".split(),
    )
    assert ran.code == 0, ran.err
    assert asked == [
        (Path("mm.bundle"), (), Path("results.jsonl"), Budget(), False, False),
        (Path("mm.bundle"), ("cuda://0", "cuda://1"), Path("r.jsonl"), Budget(9, 90.0), True, True),
    ]
    answer = json.loads(ran.out)
    assert (answer["speedup"], answer["winner"], answer["results"]) == (1.5, 5, "r.jsonl")
    assert ran.err.splitlines()[0] == "on the way"
    assert ran.err.splitlines()[-1].startswith("speedup 1.50x (95 %: 1.40 to 1.60), noise floor")


@pytest.mark.parametrize("given", ["pack mm.mlir --out b", "run mm.bundle"])
def test_interrupted(asked, frontrunner, monkeypatch, given):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(packing, "pack", interrupted)
    monkeypatch.setattr(bundle_runner, "run_bundle", interrupted)
    ran = frontrunner("bundle", *given.split())
    assert ran.code == 130
    assert ran.err.splitlines() == [
        "error: interrupted", "hint: the same command goes on from here",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("pack", "Missing argument 'IN.mlir'"),
        ("pack mm.mlir", "Missing option '--out'"),
        ("pack gone.mlir --out b", "'gone.mlir' does not exist"),
        ("pack mm.mlir --out full", "--out: full is a folder"),
        ("pack mm.mlir --out no/such/b", "--out: there is no folder no/such"),
        ("pack mm.mlir --out b --budget 0", "0 is not in the range"),
        ("run gone.bundle", "'gone.bundle' does not exist"),
        ("run mm.bundle --budget 0", "0 is not in the range"),
        ("run mm.bundle --minutes nan", "got nan"),
        ("run mm.bundle --minutes 0", "minutes must be more than 0 and at most 525,600, got 0"),
        ("run mm.bundle --out full", "--out: full is a folder"),
        ("ingest mm.bundle", "Missing argument 'RESULTS'"),
        ("ingest mm.bundle r.jsonl", "Missing option '--out'"),
        ("ingest mm.bundle r.jsonl --out full", "--out: full is not empty"),
        ("ingest mm.bundle r.jsonl --out no/such/r.parquet", "--out: there is no folder no/such"),
        ("ingest mm.bundle r.jsonl --out new", "mm.bundle is not a bundle"),
        ("ingest mm.bundle r.jsonl --out new.parquet", "mm.bundle is not a bundle"),
        ("pak", "No such command 'pak'"),
    ],
)
def test_refused(asked, frontrunner, tmp_path, arguments, message):
    before = sorted(tmp_path.rglob("*"))
    ran = frontrunner("bundle", *arguments.split())
    assert ran.code == 2
    assert ran.out == ""
    assert message in ran.err.splitlines()[0]
    assert len(ran.err.splitlines()) <= 2
    assert asked == []
    assert sorted(tmp_path.rglob("*")) == before


def test_only_recordings_are_replaced_by_what_is_ingested(asked, frontrunner, record_sample):
    ingest = ("bundle", "ingest", "mm.bundle", "r.jsonl", "--out")
    pd.DataFrame({"mine": [1]}).to_parquet("mine.parquet")
    before = Path("mine.parquet").read_bytes()
    ran = frontrunner(*ingest, "mine.parquet")
    assert ran.code == 2
    assert "mine.parquet is no recording, so it is not replaced" in ran.err
    assert Path("mine.parquet").read_bytes() == before
    table = pd.DataFrame({"vec_m": [1]})
    table.attrs["written by"] = OWN
    table.to_parquet("table.parquet")
    assert "table.parquet is no recording" in frontrunner(*ingest, "table.parquet").err
    record_sample(Path("ours.parquet"), "odd")
    assert "mm.bundle is not a bundle" in frontrunner(*ingest, "ours.parquet").err


def test_only_bundles_are_replaced_by_what_is_packed(asked, frontrunner):
    Path("mine").write_text("mine")
    ran = frontrunner("bundle", "pack", "mm.mlir", "--out", "mine")
    assert ran.code == 2
    assert "--out: mine is no bundle, so it is not replaced" in ran.err
    assert (Path("mine").read_text(), asked) == ("mine", [])
    Path("ours").write_bytes(b"PK, and so on; frontrunner bundle, format 1")
    assert frontrunner("bundle", "pack", "mm.mlir", "--out", "ours").code == 0
    assert [options.out for options in asked] == [Path("ours")]
