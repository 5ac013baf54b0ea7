"""The Gaussian process."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from frontrunner.models.gaussian import GaussianProcess, Kernel, _negative_log_likelihood

INPUTS = np.random.default_rng(0).random((60, 6))
# The last three inputs say nothing.
VALUES = np.sin(4 * INPUTS[:, 0]) + INPUTS[:, 1] * INPUTS[:, 2]
VALUES = (VALUES - VALUES.mean()) / VALUES.std()
KERNEL = Kernel.fit(INPUTS, VALUES)


def test_the_gradient_is_that_of_the_misfit():
    for seed in range(3):
        logs = np.random.default_rng(seed).normal([1.0] * 6 + [0.3, -2.0], 0.7)
        numeric = approx_fprime(
            logs, lambda x: _negative_log_likelihood(x, INPUTS, VALUES)[0], 1e-6
        )
        assert _negative_log_likelihood(logs, INPUTS, VALUES)[1] == pytest.approx(numeric, abs=1e-3)


def test_inputs_that_say_nothing_get_long_scales():
    assert max(KERNEL.scales[:3]) * 3 < min(KERNEL.scales[3:])
    assert KERNEL.noise < 0.05


def test_the_best_is_expected_where_it_is():
    more = np.random.default_rng(1).random((500, 6))
    truth = np.sin(4 * more[:, 0]) + more[:, 1] * more[:, 2]
    process = GaussianProcess(KERNEL, INPUTS, VALUES)
    chosen = process.suggest(more, np.zeros(500), VALUES.min(), 8)
    assert len(set(chosen)) == 8
    assert min(np.argsort(np.argsort(truth))[chosen]) < 10


def test_what_the_offset_favours_is_chosen():
    offset = np.zeros(500)
    offset[[7, 11]] = -9.0
    more = np.random.default_rng(1).random((500, 6))
    chosen = GaussianProcess(KERNEL, INPUTS, VALUES).suggest(more, offset, VALUES.min(), 2)
    assert set(chosen) == {7, 11}


def test_each_choice_is_what_a_process_with_the_earlier_ones_would_make():
    """Against a process that is made anew with each pick as a measurement that came as expected."""
    more = np.random.default_rng(3).random((40, 6))
    process = GaussianProcess(KERNEL, INPUTS, VALUES)
    chosen = process.suggest(more, np.zeros(40), VALUES.min(), 4)
    inputs, values, left = INPUTS, VALUES, list(range(40))
    for pick in chosen:
        again = GaussianProcess(KERNEL, inputs, values)
        assert left[again.suggest(more[left], np.zeros(len(left)), values.min(), 1)[0]] == pick
        expected = (
            again.kernel.covariance(more[[pick]] / KERNEL.scales, again._seen) @ again._weights
        )
        inputs, values = np.vstack([inputs, more[pick]]), np.append(values, expected)
        left.remove(pick)


def test_no_more_is_chosen_than_there_is():
    process = GaussianProcess(KERNEL, INPUTS, VALUES)
    assert sorted(process.suggest(INPUTS[:3], np.zeros(3), 0.0, 8)) == [0, 1, 2]
