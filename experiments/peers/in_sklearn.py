"""A search as many write it: scikit-learn's Gaussian process and expected improvement."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from ...models.knobs import Grid
from .objective import Floats, Subject

START = 10
# The kernel is learned anew when there are so many times more measurements.
GROWTH = 2
# Candidates looked at for each choice, at random.
POOL = 512


def search(subject: Subject) -> None:
    """Ten candidates at random, then one at a time; a failure counts as the slowest so far."""
    rng = np.random.default_rng(subject.seed)
    grid = Grid.of(subject.knobs)
    inputs = grid.points / np.maximum(grid.sizes - 1, 1)
    left = list(rng.permutation(len(inputs)))
    taken = [int(left.pop()) for _ in range(min(START, len(left)))]
    times = [subject.ask(row) for row in taken]
    kernel = ConstantKernel(1.0) * Matern(np.ones(inputs.shape[1]), nu=2.5) + WhiteKernel(0.01)
    learn_at = START
    while left:
        values = _standard(np.array(times))
        learn = len(taken) >= learn_at
        process = GaussianProcessRegressor(kernel, optimizer="fmin_l_bfgs_b" if learn else None)
        with warnings.catch_warnings():
            # It warns of length scales at their bounds, as few measurements bring about.
            warnings.simplefilter("ignore")
            process.fit(inputs[taken], values)
        if learn:
            kernel, learn_at = process.kernel_, len(taken) * GROWTH
        pool = np.array(left) if len(left) <= POOL else rng.choice(left, POOL, replace=False)
        mean, deviation = latent(process, inputs[pool])
        gap = (values.min() - mean) / np.maximum(deviation, 1e-9)
        row = int(pool[np.argmax(deviation * (gap * norm.cdf(gap) + norm.pdf(gap)))])
        left.remove(row)
        taken.append(row)
        times.append(subject.ask(row))


def latent(process: GaussianProcessRegressor, inputs: Floats) -> tuple[Floats, Floats]:
    """What a process believes of times without noise, as means and deviations.

    `predict` counts the learned noise among the deviation, also where all is known.
    """
    mean, deviation = process.predict(inputs, return_std=True)
    noise = process.kernel_.k2.noise_level
    return mean, np.sqrt(np.maximum(deviation**2 - noise, 0.0))


def _standard(times: Floats) -> Floats:
    """Logarithms of times, of mean 0 and deviation 1."""
    logs = np.log(times)
    known = logs[~np.isnan(logs)]
    logs = np.where(np.isnan(logs), known.max() if len(known) else 0.0, logs)
    standard: Floats = (logs - logs.mean()) / (logs.std() or 1.0)
    return standard
