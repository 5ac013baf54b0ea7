"""Stopping."""

from __future__ import annotations

import pytest

from frontrunner.benchmarks.measuring.budget import Budget, RunProgress
from frontrunner.benchmarks.measuring.outcome import Outcome
from frontrunner.core import InputError


def test_the_first_limit_ends_the_run() -> None:
    budget = Budget(candidates=10, seconds=5.0, patience=3)
    assert budget.limit_reached(9, 4.9, 2) is None
    assert budget.limit_reached(10, 0.0, 0) == "budget of 10 candidates"
    assert budget.limit_reached(0, 5.0, 0) == "budget of 5 s"
    assert budget.limit_reached(5, 1.0, 3) == "no improvement in 3 candidates"
    assert Budget().limit_reached(10**9, 1e9, 10**9) is None


def test_the_last_batch_is_cut_to_the_budget() -> None:
    assert Budget(candidates=10).next_batch_size(8, 8) == 2
    assert Budget(candidates=100).next_batch_size(8, 8) == 8
    assert Budget(seconds=1.0).next_batch_size(8, 8) == 8


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
