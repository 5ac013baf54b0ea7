"""How often intervals hold what they are said to hold, by simulation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

from frontrunner.benchmarks.measuring.estimate import median_interval, noise_floor

TRIALS = 4000
Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
# Ratios whose median is 1.
DRAWS: dict[str, Draw] = {
    "normal": lambda rng, shape: 1 + 0.05 * rng.standard_normal(shape),
    "skewed": lambda rng, shape: np.exp(0.5 * rng.exponential(1, shape)) / np.exp(0.5 * np.log(2)),
    "heavy-tailed": lambda rng, shape: 1 + 0.02 * rng.standard_t(1.5, shape),
}


@pytest.mark.parametrize("kind", DRAWS)
@pytest.mark.parametrize("rounds", [6, 7, 12, 15, 20, 40, 60])
def test_intervals_hold_the_median_as_often_as_they_say(kind: str, rounds: int) -> None:
    drawn = DRAWS[kind](np.random.default_rng(rounds), (TRIALS, rounds))
    intervals = np.array([median_interval(row) for row in drawn])
    held = np.mean((intervals[:, 0] <= 1) & (intervals[:, 1] >= 1))
    assert held >= 0.94


def test_an_interval_lies_between_two_of_the_values() -> None:
    values = list(range(12, 0, -1))
    assert median_interval(values) == (3.0, 10.0)
    assert median_interval(values[:6]) == (7.0, 12.0)
    assert median_interval([2.0, 1.0]) == (1.0, 2.0)


@pytest.mark.parametrize("count", [*range(1, 200), 1100])
def test_of_any_number_of_values_the_interval_is_the_binomial_distributions(count: int) -> None:
    low, high = median_interval(range(count))
    outside = max(0, int(binom.ppf(0.025, count, 0.5)) - 1)
    assert 2 * binom.cdf(low, count, 0.5) <= 0.05 or low == 0
    assert abs(low - outside) <= 1
    assert low + high == count - 1
    assert low <= high


def test_a_noise_floor_is_how_far_the_interval_reaches() -> None:
    assert noise_floor((0.9, 1.02)) == pytest.approx(0.1)
    assert noise_floor((0.99, 1.3)) == pytest.approx(0.3)
