"""Optuna's samplers: for each point that they suggest the nearest candidate is measured."""

from __future__ import annotations

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.trial import TrialState

from ...models.knobs import Grid
from .objective import Subject

# It announces every study and trial.
optuna.logging.set_verbosity(optuna.logging.WARNING)


def search(subject: Subject, sampler: str, categories: bool = False) -> None:
    """Asks and tells until stopped.

    Where several suggestions have one nearest candidate it is measured once, and told each time. A
    failure is told as a little slower than the slowest so far; as failed, where nothing ran yet.

    Args:
        sampler: the name of its class.
        categories: whether knobs are categories; if not, places of their values from 0 to 1.
    """
    grid = Grid.of(subject.knobs)
    unit, rows = grid.points / (grid.sizes - 1), np.arange(len(grid.points))
    space: dict[str, BaseDistribution] = {
        str(place): CategoricalDistribution(range(size)) if categories else FloatDistribution(0, 1)
        for place, size in enumerate(grid.sizes.tolist())
    }
    study = optuna.create_study(sampler=getattr(optuna.samplers, sampler)(seed=subject.seed))
    slowest = 0.0
    while True:
        trial = study.ask(space)
        at = np.array([trial.params[name] for name in space])
        row = grid.nearest(at, rows) if categories else int(((unit - at) ** 2).sum(axis=1).argmin())
        time = subject.ask(row)
        slowest = max(slowest, 0.0 if np.isnan(time) else time)
        if slowest:
            study.tell(trial, 1.1 * slowest if np.isnan(time) else time)
        else:  # nothing ran yet that a failure could be slower than
            study.tell(trial, state=TrialState.FAIL)
