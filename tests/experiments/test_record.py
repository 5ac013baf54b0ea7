"""Recordings of this machine: made, found, interrupted, refused."""

from __future__ import annotations

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
from frontrunner.search import InputError

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finals, "ROUNDS", 3)
    monkeypatch.setattr(finals, "SECONDS", 0.005)
    monkeypatch.setattr(rounds, "SECONDS", 0.005)


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
    assert record(options(out), (), NullProgress(), silent) == made


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
    with pytest.raises(InputError, match="unfinished recording of another"):
        record(options(out, seed=5), ("local-sync",), NullProgress(), silent)
    assert results.read_text() == before
    made = record(options(out), ("local-sync",), NullProgress(), silent)
    assert made.candidates == 6
    assert not results.exists()


def test_what_is_no_recording_is_not_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "matmul.parquet"
    out.write_text("mine")
    with pytest.raises(InputError, match="no Parquet file"):
        record(options(out), (), NullProgress(), silent)
    assert out.read_text() == "mine"
