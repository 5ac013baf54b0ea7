"""Stopping."""

from __future__ import annotations

import pytest

from frontrunner.benchmarks.measuring.budget import Budget, RunProgress
from frontrunner.benchmarks.measuring.loop import BudgetStopping
from frontrunner.benchmarks.measuring.outcome import Outcome
from frontrunner.core import InputError


@pytest.mark.parametrize(
    ("taken", "seconds", "without", "reason"),
    [
        (9, 4.9, 2, None),
        (10, 0.0, 0, "budget of 10 candidates"),
        (0, 5.0, 0, "budget of 5 s"),
        (5, 1.0, 3, "no improvement in 3 candidates"),
        (20, 9.0, 9, "all 20 candidates"),
    ],
)
def test_the_first_limit_ends_the_run(monkeypatch, taken, seconds, without, reason) -> None:
    clock = [7.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    stopping = BudgetStopping(Budget(candidates=10, seconds=5.0, patience=3), total=20)
    clock[0] += seconds
    assert stopping.stop_reason(RunProgress(taken=taken, without_improvement=without)) == reason


def test_without_limits_the_queue_ends_it() -> None:
    stopping = BudgetStopping(Budget(), total=10**9)
    assert stopping.stop_reason(RunProgress(taken=10**8, without_improvement=10**8)) is None


def test_the_last_batch_is_cut_to_the_budget() -> None:
    def size(budget: Budget, in_flight: int = 0) -> int:
        return BudgetStopping(budget, 1000).next_batch_size(RunProgress(taken=8), 8, in_flight)

    assert size(Budget(candidates=10)) == 2
    assert size(Budget(candidates=10), in_flight=1) == 1
    assert size(Budget(candidates=100)) == 8
    assert size(Budget(seconds=1.0)) == 8


@pytest.mark.parametrize("name", ["candidates", "seconds", "patience"])
@pytest.mark.parametrize("value", [0, -1])
def test_nothing_and_less_are_refused(name: str, value: int) -> None:
    with pytest.raises(InputError, match=f"{name} must be more than 0, got {value}"):
        Budget(**{name: value})


def test_the_course_counts_what_brought_nothing() -> None:
    course = RunProgress()
    seen = []
    for time_us in (None, 80.0, 90.0, None, 80.0, 40.0, 50.0):
        kind = "crashed" if time_us is None else "ok"
        course.add(Outcome(kind, time_us=time_us, baseline_us=100.0))
        seen.append((course.best, course.without_improvement))
    assert course.taken == 7
    assert seen == [(None, 1), (0.8, 0), (0.8, 1), (0.8, 2), (0.8, 3), (0.4, 0), (0.4, 1)]


def test_what_runs_the_same_program_as_the_best_is_no_improvement() -> None:
    """Whatever rounding makes of its time."""
    course = RunProgress()
    course.add(Outcome("ok", time_us=0.7, baseline_us=1.1))
    course.add(Outcome("ok", time_us=0.69, baseline_us=1.1, same_as=0))
    assert (course.best, course.without_improvement) == (0.7 / 1.1, 1)
