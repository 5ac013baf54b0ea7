"""How runs are timed."""

from __future__ import annotations

import math
import time

import pytest

from frontrunner.benchmarks.measuring.timing import time_runs


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
    assert len(time_runs(clock.run, 1.0, give_up_us=19.0, least=3).samples_us) == 3
