"""Further rounds for a recording: they end with the session's time, and go on in a later one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from frontrunner.benchmarks.bundle import run
from frontrunner.benchmarks.bundle.archive import QueueEntry
from frontrunner.benchmarks.bundle.results import Header, Results, read_results
from frontrunner.benchmarks.measuring import BASELINE, Budget, Outcome, Repeat

QUEUE = (QueueEntry(0, "ok", "abc"), QueueEntry(1, "ok", "def"))
HEADER = Header("ab" * 32, ("cuda://0",), ("cuda://0 on H100 (GPU-1)",), "3.13.0")


class Rounds:
    """Four further measurements, of ten seconds each."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(run.time, "monotonic", lambda: self.now)

    def measure_again(
        self, outcomes: Any, repeats: list[Repeat], on_round: Any
    ) -> Iterator[Repeat]:
        on_round(len(outcomes))
        for block in range(len(repeats), 4):
            self.now += 10
            yield Repeat(BASELINE, 12.0, block, "cuda://0")


def test_they_end_with_the_time_and_go_on_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds, path = Rounds(monkeypatch), tmp_path / "r.jsonl"
    bundle: Any = SimpleNamespace(manifest=SimpleNamespace(queue=QUEUE))
    said: list[str] = []

    def again(seconds: float | None, screening: float = 0.0) -> bool:
        with Results(path, HEADER, QUEUE) as results:
            if not results.outcomes:
                results.append(0, Outcome("ok", 12.5, 25.0, executable="abc", device="cuda://0"))
            budget = Budget(seconds=seconds)
            session = run._Session(bundle, HEADER.uris, run.HERE, results, budget, said.append)
            rounds.now += screening
            session._again(rounds)  # type: ignore[arg-type]
            return session.recorded

    assert not again(15)
    assert len(read_results(path, QUEUE).repeats) == 2
    assert "the time is up before the last round: the same command goes on" in said
    assert not again(15, screening=20)
    assert len(read_results(path, QUEUE).repeats) == 2
    assert again(None)
    assert len(read_results(path, QUEUE).repeats) == 4
