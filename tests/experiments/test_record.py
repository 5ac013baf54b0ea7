"""Recordings of this machine: made, found, interrupted, refused."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from frontrunner.benchmarks import finals, rounds
from frontrunner.benchmarks.budget import Budget
from frontrunner.experiments import record as module
from frontrunner.experiments.options import TuneOptions
from frontrunner.experiments.progress import NullProgress
from frontrunner.experiments.record import record
from frontrunner.experiments.recording import Recording
from frontrunner.search import InputError, read_dispatch

DATA = Path(__file__).parents[1] / "data"
READ = cache(read_dispatch)  # of a second each


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finals, "ROUNDS", 3)
    monkeypatch.setattr(finals, "SECONDS", 0.005)
    monkeypatch.setattr(rounds, "SECONDS", 0.005)
    monkeypatch.setattr(module, "read_dispatch", READ)


def options(out: Path, **changes: Any) -> TuneOptions:
    given: dict[str, Any] = {"input": DATA / "matmul.mlir", "pool": 500}
    return TuneOptions(**{**given, "budget": Budget(6), "out": out, **changes})


def silent(_: str) -> None:
    pass


def test_a_recording_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "matmul.parquet"
    made = record(options(out), ("local-sync",), NullProgress(), silent)
    found = Recording.read(out)
    assert (made.candidates, made.ok) == (6, 6)
    assert made.near >= 1
    assert list(found.provenance.devices) == ["local-sync"]
    assert found.provenance.noise_floor == made.noise_floor
    assert list(tmp_path.iterdir()) == [out]

    def never(*_: object, **__: object) -> None:
        raise AssertionError("recorded again")

    monkeypatch.setattr(module, "pack", never)
    assert record(options(out), (), NullProgress(), silent) == replace(made, new=False)

    before = out.read_bytes()
    text = (DATA / "matmul.mlir").read_text()
    edited = tmp_path / "edited.mlir"
    edited.write_text(text.replace("128", "64"))
    for changes, says in [
        ({"input": edited}, f"problem ({made.problem})"),
        ({"target": "znver4"}, f"target ({found.provenance.target.arch})"),
        ({"seed": 5}, "seed (0)"),
        ({"budget": Budget(5)}, "number of candidates (6)"),
        ({"budget": Budget(7)}, "number of candidates (6)"),
        ({"budget": Budget()}, "number of candidates (6)"),
        ({"pipeline": "CPUDoubleTilingExpert"}, "pipeline ("),
        ({"seed": 5, "budget": Budget(7)}, "seed (0), number of candidates (6)"),
    ]:
        with pytest.raises(InputError) as refused:
            record(options(out, **changes), (), NullProgress(), silent)
        assert f"{out} is a recording of another {says}" in str(refused.value)
    with pytest.raises(InputError, match=r"another device \(local-sync\)"):
        record(options(out), ("local-task",), NullProgress(), silent)
    # The whole space is no other number, however many are asked for.
    all_of_it = options(out, budget=Budget(1000), pool=3)
    monkeypatch.setattr(module, "build_spaces", lambda *_: ["one", "the other"])
    monkeypatch.setattr(module, "sample", lambda space, pool, seed: [0] * pool)
    assert not record(all_of_it, (), NullProgress(), silent).new
    assert out.read_bytes() == before


def test_an_interrupted_recording_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "matmul.parquet"

    def interrupt(text: str) -> None:
        if "measuring again" in text:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        record(options(out), ("local-sync",), NullProgress(), interrupt)
    results = tmp_path / ".matmul.work" / "results.jsonl"
    before = results.read_text()
    assert len(before.splitlines()) == 1 + 6
    for changes, says in [
        ({"seed": 5}, "seed (0)"),
        ({"pipeline": "CPUDoubleTilingExpert"}, "pipeline (all)"),
        ({"extras": {"bank_padding": (0, 1)}}, "set of extra knobs (none)"),
        ({"budget": Budget(7)}, "number of candidates (6)"),
    ]:
        with pytest.raises(InputError) as refused:
            record(options(out, **changes), ("local-sync",), NullProgress(), silent)
        assert f"unfinished recording of another {says}" in str(refused.value)
    assert results.read_text() == before
    made = record(options(out), ("local-sync",), NullProgress(), silent)
    assert made.candidates == 6
    assert not results.exists()


@pytest.mark.parametrize("devices", [("gpu",), ("cuda://0",), ("local-task", "local-task")])
def test_a_device_is_refused_before_anything_is_compiled(
    devices: tuple[str, ...], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="device"):
        record(options(tmp_path / "matmul.parquet"), devices, NullProgress(), silent)
    assert not list(tmp_path.iterdir())


def test_what_is_no_recording_is_not_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "matmul.parquet"
    out.write_text("mine")
    with pytest.raises(InputError, match="no Parquet file"):
        record(options(out), (), NullProgress(), silent)
    assert out.read_text() == "mine"
