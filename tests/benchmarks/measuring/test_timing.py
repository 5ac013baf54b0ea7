"""How runs are timed."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from frontrunner.benchmarks.measuring import kernel
from frontrunner.benchmarks.measuring.constants import GIVE_UP_SECONDS
from frontrunner.benchmarks.measuring.timing import time_runs
from frontrunner.benchmarks.verifying import Array


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def run(self) -> None:
        self.now += 20e-6


class Slow(float):
    """A limit that takes long to be compared with."""

    clock: Clock

    def __lt__(self, other: float) -> bool:
        self.clock.now += 1.0
        return super().__lt__(other)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(time, "perf_counter", lambda: made.now)
    return made


def test_what_is_done_between_runs_is_in_none_of_them(clock: Clock) -> None:
    """Looking for the fastest of 2,000 runs had taken as long as one of 20 us."""
    limit = Slow(math.inf)
    limit.clock = clock
    timing = time_runs(clock.run, 60.0, limit, least=3)
    assert len(timing.samples_us) > 3
    assert timing.samples_us == pytest.approx([20.0] * len(timing.samples_us))


def test_it_takes_the_time_that_is_given_and_the_least_number(clock: Clock) -> None:
    assert len(time_runs(clock.run, 200e-6, least=3).samples_us) == 10
    assert len(time_runs(clock.run, 0.0, least=3).samples_us) == 3


def test_what_is_slower_than_the_limit_is_given_up(clock: Clock) -> None:
    given_up = time_runs(clock.run, 1.0, give_up_us=19.0, least=3).samples_us
    assert sum(given_up) == pytest.approx(GIVE_UP_SECONDS * 1e6, abs=20.0)
    slow = [0.02, 0.02, 0.02, 0.02]

    def run() -> None:
        clock.now += slow.pop()

    assert len(time_runs(run, 1.0, give_up_us=19.0, least=3).samples_us) == 3


def test_what_another_process_slows_for_its_turn_on_the_core_is_not_given_up(clock: Clock) -> None:
    def run() -> None:
        clock.now += 100e-6 if clock.now < 0.012 else 20e-6

    samples = time_runs(run, 0.1, give_up_us=50.0, least=3).samples_us
    assert sum(samples) == pytest.approx(0.1e6, abs=20.0)
    assert min(samples) == pytest.approx(20.0)


class Kernel:
    """One whose runs take so many microseconds, the last of them again and again."""

    def __init__(self, clock: Clock, took_us: Sequence[float]) -> None:
        self.clock, self.took_us, self.runs = clock, took_us, 0

    def run(self, arguments: object, *, repeated: bool = False) -> None:
        self.clock.now += 1e-6 * self.took_us[min(self.runs, len(self.took_us) - 1)]
        self.runs += 1

    def outputs(self, arguments: object) -> list[Array]:
        self.run(arguments)
        return []


@pytest.mark.parametrize(
    ("took_us", "samples_us", "runs"),
    [
        ([200_000, 100], [100, 100, 100], 5),
        ([200_000], [200_000], 2),
        ([100], [100, 100, 100], 4),
    ],
    ids=["stalled once", "slow", "fast"],
)
def test_a_first_run_that_stalls_is_not_the_time(
    clock: Clock, took_us: list[float], samples_us: list[float], runs: int
) -> None:
    """Where a control group has a share of the CPU, any run may wait for the next period."""
    loaded = Kernel(clock, took_us)
    device: Any = object.__new__(kernel._Device)
    device.arguments, device.repeats, device.compiles_late = None, False, False
    device._leave_other_values = device._find_mismatch = lambda *_: None
    device._others, device._right_us = object(), 0.0
    device._load = lambda path: loaded
    timing = device.measure(kernel.MeasureRequest(Path("any.vmfb"), 0.0, give_up_us=1_000.0))
    assert timing.samples_us == pytest.approx(samples_us)
    assert loaded.runs == runs


def test_the_fastest_that_is_right_runs_before_what_is_verified() -> None:
    """The default may take many times as long."""
    ran: list[str] = []

    class Named:
        def __init__(self, name: str) -> None:
            self.name = name

        def run(self, arguments: Any) -> None:
            ran.append(self.name)

    device: Any = object.__new__(kernel._Device)
    device._leave_other_values, device._right_us = None, math.inf
    device._others = object()
    for name, time_us in (("default", math.inf), ("slow", 90.0), ("fast", 10.0), ("slower", 99.0)):
        device._note_right(Named(name), time_us)
        device._leave_other_values()
    assert ran == ["default", "slow", "fast", "fast"]
