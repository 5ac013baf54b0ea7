"""Screening executables on devices that are made up: whose baseline, how often, in which order."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from frontrunner.benchmarks.measuring.chips import shares_cores
from frontrunner.benchmarks.measuring.device import RunFailed
from frontrunner.benchmarks.measuring.outcome import BASELINE, CompileOutcome, Outcome
from frontrunner.benchmarks.measuring.screening import Screening

DEFAULT = "default"


class Chip:
    """A device that is `factor` times slower than the first of its kind."""

    def __init__(self, uri: str, factor: float, meet: threading.Barrier | None = None) -> None:
        self.uri = self.name = uri
        self.shares_cores = shares_cores(uri)
        self.factor = factor
        self.meet = meet
        self.baseline_us = 0.0
        self.baselines = 0
        self.measured: list[str] = []

    def measure_baseline(self, seconds: float) -> float:
        if self.meet is not None:
            self.meet.wait()
        self.baselines += 1
        self.baseline_us = 100.0 * self.factor
        return self.baseline_us

    def measure(self, executable: Path, seconds: float, **_: Any) -> float:
        self.measured.append(executable.name)
        if executable.name == "bad":
            raise RunFailed("crashed", "the kernel crashed: SIGSEGV") from OSError("last words")
        return float(executable.name) * self.factor


def ready(*names: str) -> list[tuple[int, CompileOutcome]]:
    return [(i, CompileOutcome("ok", Path(name), name)) for i, name in enumerate(names)]


def measuring(*chips: Chip, **known: Any) -> Screening:
    return Screening(chips, DEFAULT, **{"known": {}, **known})  # type: ignore[arg-type]


def test_each_device_is_compared_with_its_own_baseline() -> None:
    fast, slow = Chip("local-task", 1.0), Chip("local-sync", 3.0)
    outcomes = dict(measuring(fast, slow).measure(ready("50", "50", "80", "80")))
    assert [outcomes[i].device for i in range(4)] == ["local-task", "local-sync"] * 2
    assert [outcomes[i].time_us for i in range(4)] == [50.0, 150.0, 80.0, 240.0]
    assert [outcomes[i].baseline_us for i in range(4)] == [100.0, 300.0] * 2
    assert [outcomes[i].relative for i in range(4)] == [0.5, 0.5, 0.8, 0.8]


def test_the_baseline_is_measured_before_every_batch() -> None:
    chips = Chip("local-task", 1.0), Chip("local-sync", 3.0)
    measures = measuring(*chips)
    for _ in range(3):
        list(measures.measure(ready("50", "80")))
    assert [chip.baselines for chip in chips] == [3, 3]


def test_a_long_batch_has_the_baseline_measured_in_between() -> None:
    """Of 64 cores a batch has hundreds of candidates, and the machine is another by its end."""
    chips = Chip("local-task", 1.0), Chip("local-sync", 3.0)
    list(measuring(*chips).measure(ready(*map(str, range(1, 36)))))
    assert [len(chip.measured) for chip in chips] == [18, 17]
    assert [chip.baselines for chip in chips] == [3, 3]


def test_gpus_measure_at_the_same_time() -> None:
    meet = threading.Barrier(2, timeout=30)
    chips = Chip("cuda://0", 1.0, meet), Chip("cuda://1", 2.0, meet)
    outcomes = dict(measuring(*chips).measure(ready("50", "60", "70", "80")))
    assert sorted(outcomes) == [0, 1, 2, 3]
    assert [chip.measured for chip in chips] == [["50", "70"], ["60", "80"]]
    assert [outcomes[i].relative for i in range(4)] == [0.5, 0.6, 0.7, 0.8]


def test_what_is_known_is_not_measured_again() -> None:
    chip = Chip("local-task", 1.0)
    known = {7: Outcome("ok", 30.0, 60.0, executable="50", device="local-task")}
    other = {8: Outcome("ok", 30.0, 60.0, executable="60", device="local-sync")}
    found = dict(measuring(chip, known=known | other).measure(ready("50", DEFAULT, "60")))
    assert [found[i].same_as for i in range(3)] == [7, BASELINE, None]
    assert [found[i].relative for i in range(3)] == [0.5, 1.0, 0.6]
    assert chip.measured == ["60"]


def test_failures_are_outcomes_and_what_was_said_is_passed_on() -> None:
    said: list[tuple[int, str]] = []
    chip = Chip("local-task", 1.0)
    refused = CompileOutcome("compile_failed", Path(), reason="no", log="long")
    batch = [(0, refused), (1, CompileOutcome("ok", Path("bad"), "bad")), (2, refused)]
    measures = measuring(chip, save_log=lambda index, text: said.append((index, text)))
    outcomes = dict(measures.measure(batch))
    assert [(o.kind, o.stage) for o in outcomes.values()] == [
        ("compile_failed", "compile"), ("crashed", "run"), ("compile_failed", "compile"),
    ]  # fmt: skip
    assert said == [(0, "long"), (1, "last words"), (2, "long")]
    assert outcomes[1].relative is None


class Held(Chip):
    """One that measures no second candidate before somebody waits for threads to end."""

    def __init__(self, uri: str, awaited: threading.Event) -> None:
        super().__init__(uri, 1.0)
        self.awaited = awaited

    def measure(self, executable: Path, seconds: float, **more: Any) -> float:
        assert not self.measured or self.awaited.wait(30)
        return super().measure(executable, seconds, **more)


@pytest.fixture
def awaited(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Whether somebody waits for a thread to end."""
    found, join = threading.Event(), threading.Thread.join

    def told(self: threading.Thread, timeout: float | None = None) -> None:
        found.set()
        join(self, timeout)

    monkeypatch.setattr(threading.Thread, "join", told)
    return found


@pytest.mark.parametrize("uris", [("local-task",), ("cuda://0", "cuda://1")])
def test_a_batch_may_be_left_early(uris: tuple[str, ...], awaited: threading.Event) -> None:
    chips = [Held(uri, awaited) for uri in uris]
    batch = measuring(*chips).measure(ready(*map(str, range(10, 90))))
    assert next(batch)[1].kind == "ok"
    batch.close()  # type: ignore[attr-defined]
    assert max(len(chip.measured) for chip in chips) in (1, 2)
