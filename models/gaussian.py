"""Gaussian-process regression and expected improvement, for a few hundred measurements.

Written out, as scikit-learn's has no prior over its length scales, which a few measurements of many
features do not tell (it ran into its bounds), and takes 2.7 s to learn 60 of them from 128
measurements, this one 0.6 s: what a gradient sums over all pairs is a product of matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, solve_triangular
from scipy.optimize import minimize
from scipy.stats import norm

Array = NDArray[np.float64]

ROOT5 = 5**0.5
JITTER = 1e-6
STEPS = 30
# Priors of the hyperparameters, as mean and standard deviation of their logarithms. Length scales
# that grow with the number of inputs keep the process from seeing noise as structure in many
# dimensions (Hvarfner et al., Vanilla Bayesian Optimization Performs Great in High Dimensions,
# 2024).
SCALE_MEAN, SCALE_DEVIATION = 2**0.5, 3**0.5
SIGNAL_MEAN, SIGNAL_DEVIATION = 0.0, 1.0
NOISE_MEAN, NOISE_DEVIATION = -4.0, 1.0
BOUNDS = ((-4.0, 8.0), (-4.0, 4.0), (-9.0, 1.0))


@dataclass(frozen=True, eq=False)
class Kernel:
    """How alike candidates are: Matérn 5/2 with a length scale per input.

    Attributes:
        signal: variance of the values.
        noise: variance of a measurement.
    """

    scales: Array
    signal: float
    noise: float

    @classmethod
    def fit(cls, inputs: Array, values: Array) -> Self:
        """The likeliest kernel.

        Args:
            inputs: a row per measurement, each column about 0 to 1.
            values: of mean 0 and deviation 1, or less.
        """
        count = inputs.shape[1]
        means = _spread(SCALE_MEAN + np.log(count) / 2, SIGNAL_MEAN, NOISE_MEAN, count)
        deviations = _spread(SCALE_DEVIATION, SIGNAL_DEVIATION, NOISE_DEVIATION, count)

        def loss(logs: Array) -> tuple[float, Array]:
            value, gradient = _negative_log_likelihood(logs, inputs, values)
            away = (logs - means) / deviations
            return value + float(away @ away) / 2, gradient + away / deviations

        bounds = [BOUNDS[0]] * count + list(BOUNDS[1:])
        found = minimize(
            loss, means, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": STEPS}
        )
        logs = np.exp(found.x)
        return cls(logs[:count], float(logs[count]), float(logs[count + 1]))

    def covariance(self, left: Array, right: Array) -> Array:
        """The covariance of values at two sets of inputs, divided by their length scales."""
        covariance: Array = self.signal * _matern(_distances(left, right))[0]
        return covariance


class GaussianProcess:
    """A Gaussian process conditioned on measurements."""

    def __init__(self, kernel: Kernel, inputs: Array, values: Array) -> None:
        self.kernel = kernel
        self._seen = inputs / kernel.scales
        covariance = kernel.covariance(self._seen, self._seen)
        covariance[np.diag_indices(len(values))] += kernel.noise + JITTER
        self._root = np.linalg.cholesky(covariance)
        self._weights = cho_solve((self._root, True), values)

    def suggest(self, inputs: Array, offset: Array, best: float, count: int) -> list[int]:
        """Rows with the highest expected improvement, chosen one by one as a batch.

        Each is chosen as if those before it had come out as expected, so that a batch does not
        crowd at one place.

        Args:
            inputs: a row per candidate.
            offset: is added to what the process expects.
            best: the lowest value so far.
            count: how many.
        """
        kernel, points = self.kernel, inputs / self.kernel.scales
        across = kernel.covariance(points, self._seen)
        mean = across @ self._weights + offset
        explained = solve_triangular(self._root, across.T, lower=True)
        variance = np.maximum(kernel.signal - (explained**2).sum(axis=0), JITTER)
        chosen: list[int] = []
        for _ in range(min(count, len(inputs))):
            deviation = np.sqrt(variance)
            distance = (best - mean) / deviation
            gain = deviation * (distance * norm.cdf(distance) + norm.pdf(distance))
            gain[chosen] = -np.inf
            pick = int(np.argmax(gain))
            chosen.append(pick)
            best = min(best, float(mean[pick]))
            # The pick becomes one more row of the triangular system.
            covariance = kernel.covariance(points, points[pick : pick + 1])[:, 0]
            covariance -= explained.T @ explained[:, pick]
            row = covariance / np.sqrt(max(covariance[pick], JITTER) + kernel.noise)
            explained = np.vstack([explained, row])
            variance = np.maximum(variance - row**2, JITTER)
        return chosen


def _spread(scale: float, signal: float, noise: float, count: int) -> Array:
    return np.concatenate([np.full(count, scale), [signal, noise]])


def _distances(left: Array, right: Array) -> Array:
    squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1) - 2 * left @ right.T
    distances: Array = ROOT5 * np.sqrt(np.maximum(squares, 0))
    return distances


def _matern(distances: Array) -> tuple[Array, Array]:
    """The correlation at each distance, and the part that it shares with its derivative."""
    decay = np.exp(-distances)
    return (1 + distances + distances**2 / 3) * decay, (1 + distances) * decay


def _negative_log_likelihood(logs: Array, inputs: Array, values: Array) -> tuple[float, Array]:
    """The negative log likelihood of a kernel, and its gradient."""
    scales, signal, noise = np.exp(logs[:-2]), np.exp(logs[-2]), np.exp(logs[-1])
    scaled = inputs / scales
    correlation, shared = _matern(_distances(scaled, scaled))
    covariance = signal * correlation
    covariance[np.diag_indices(len(values))] += noise + JITTER
    root = np.linalg.cholesky(covariance)
    weights = cho_solve((root, True), values)
    inverse = cho_solve((root, True), np.eye(len(values)))
    misfit = values @ weights / 2 + np.log(np.diag(root)).sum()
    slope = (inverse - np.outer(weights, weights)) / 2
    # Sum over pairs of slope × (difference of an input)², for all inputs at once.
    pull = slope * signal * shared * 5 / 3
    by_scale = 2 * (pull.sum(axis=1) @ scaled**2 - (scaled * (pull @ scaled)).sum(axis=0))
    by_signal = signal * (slope * correlation).sum()
    return float(misfit), np.concatenate([by_scale, [by_signal, noise * np.trace(slope)]])
