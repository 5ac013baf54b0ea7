"""Likelihood-free Bayesian optimisation by a forest, as Helion's tuner filters candidates.

Written from its description (Song et al., A General Recipe for Likelihood-free Bayesian
Optimization, 2022, and Helion's LFBO pattern search): a classifier of "among the best tenth of what
was measured", those weighted by how much better than the threshold they are. Helion asks it about
neighbours of the best configurations; a recording holds few of these, so it is asked about all.
"""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from ...models.knobs import Grid
from .objective import Floats, Subject

START, BATCH = 20, 10
QUANTILE, TREES = 0.1, 100


def search(subject: Subject) -> None:
    """Twenty candidates at random, then batches of ten; failures are worse than all else."""
    rng = np.random.default_rng(subject.seed)
    inputs = Grid.of(subject.knobs).points
    left = rng.permutation(len(inputs))
    taken: list[int] = []
    times: list[float] = []
    while len(left):
        if len(taken) < START:
            picks = left[: START - len(taken)]
        else:
            chances = _chances(inputs[taken], np.array(times), inputs[left], rng)
            # Those left are in random order, so that ties are broken at random.
            picks = left[np.argsort(-chances, kind="stable")[:BATCH]]
        left = left[~np.isin(left, picks)]
        for row in picks.tolist():
            taken.append(row)
            times.append(subject.ask(row))


def _chances(seen: np.ndarray, times: Floats, left: np.ndarray, rng: np.random.Generator) -> Floats:
    """How likely each candidate is to be among the best; all alike before anything ran."""
    if np.isnan(times).all():
        return np.zeros(len(left))
    threshold = np.nanquantile(times, QUANTILE, method="lower")
    good = times <= threshold
    if good.all():
        return np.zeros(len(left))
    slower = np.nanmax(times) - threshold
    gains = np.where(good, (threshold - np.nan_to_num(times)) / (slower or 1.0), 0.0)
    # The best class is as heavy as the other, and within it the better ones are heavier.
    weights = np.where(good, 1.0 + gains, 1.0)
    weights[good] *= (~good).sum() / weights[good].sum()
    forest = RandomForestClassifier(TREES, random_state=int(rng.integers(2**31)), n_jobs=1)
    chances: Floats = forest.fit(seen, good, weights).predict_proba(left)[:, 1]
    return chances
