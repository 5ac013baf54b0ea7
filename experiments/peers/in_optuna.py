"""Optuna's samplers of boxes: for each point the nearest candidate is measured."""

from __future__ import annotations

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, FloatDistribution

from ...models.knobs import Grid
from .asking import Subject

# It announces every study and trial.
optuna.logging.set_verbosity(optuna.logging.WARNING)


def search(subject: Subject, sampler: str) -> None:
    """Asks and tells until stopped.

    Where several suggestions have one nearest candidate it is measured once, and told each time. A
    failure is told as a little slower than the slowest so far.
    """
    points = Grid.of(subject.knobs)
    unit = points.points / np.maximum(points.sizes - 1, 1)
    box: dict[str, BaseDistribution] = {
        str(place): FloatDistribution(0, 1) for place in range(unit.shape[1])
    }
    study = optuna.create_study(sampler=getattr(optuna.samplers, sampler)(seed=subject.seed))
    slowest = 0.0
    while True:
        trial = study.ask(box)
        at = np.array([trial.params[name] for name in box])
        time = subject.ask(int(np.argmin(((unit - at) ** 2).sum(axis=1))))
        slowest = max(slowest, 0.0 if np.isnan(time) else time)
        study.tell(trial, 1.1 * slowest if np.isnan(time) else time)
