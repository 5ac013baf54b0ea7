"""Optuna's tree-structured Parzen estimator over the same candidates: a baseline to beat."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from ...core import InputError, extra_hint
from .knob_ranker import Array, Grid, KnobRanker, Levels, Rows

try:
    import optuna
except ImportError as error:
    raise InputError(
        "ranker 'tpe' needs Optuna, which is not installed", extra_hint("baselines")
    ) from error

from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.samplers import TPESampler
from optuna.trial import TrialState, create_trial

# It announces every study and trial.
optuna.logging.set_verbosity(optuna.logging.WARNING)

# Random candidates before TPE starts: Optuna's default `n_startup_trials`.
STARTUP = 10
# Optuna may suggest a measured point, or one outside of the space; it is asked up to so many times
# for another. With up to 8 suggestions it took 45 candidates on 7 foreign spaces, where the nearest
# to the first took 76.
MAX_SUGGESTIONS = 8

SearchSpace = dict[str, BaseDistribution]


class TpeRanker(KnobRanker):
    """Takes what Optuna suggests, or where that is no candidate that is left, the nearest.

    Knobs are categories: as places in their order they took twice as many candidates. Failures are
    slower than all else; Optuna looks only at the order of times.
    """

    name = "tpe"

    _study: optuna.Study | None = None
    _history: tuple[Hashable, ...] = ()

    def __init__(self, *, batch: int = 1, seed: int = 0) -> None:
        """
        Args:
            batch: how many candidates to take between two looks.
            seed: of the first candidates, and of Optuna.
        """
        self.batch = batch
        self.seed = seed

    def suggest(
        self, grid: Grid, times: Array, remaining: Rows, rng: np.random.Generator
    ) -> list[int]:
        if len(times) < STARTUP:
            return []
        space: SearchSpace = {
            str(i): CategoricalDistribution(range(n)) for i, n in enumerate(grid.sizes)
        }
        study = self._recall(space, grid, times)
        study.sampler = TPESampler(n_startup_trials=STARTUP, seed=int(rng.integers(2**32)))
        chosen: list[int] = []
        while len(chosen) < self.batch and len(remaining):
            for _ in range(MAX_SUGGESTIONS):
                point = _suggest(study, space)
                row = grid.nearest(point, remaining)
                if (grid.points[row] == point).all():
                    break
            chosen.append(row)
            remaining = remaining[remaining != row]
        return chosen

    def _recall(self, space: SearchSpace, grid: Grid, times: Array) -> optuna.Study:
        """What was measured as a study: the one before, if it began so, as telling takes long."""
        points = map(tuple, grid.points[: len(times)].tolist())
        trials = tuple(zip(points, times, strict=True))
        history = (tuple(grid.sizes), *trials)
        if self._study is None or history[: len(self._history)] != self._history:
            self._study, self._history = optuna.create_study(), history[:1]
        for point, time in trials[len(self._history) - 1 :]:
            params = dict(zip(space, point, strict=True))
            self._study.add_trial(create_trial(params=params, distributions=space, value=time))
        self._history = history
        return self._study


def _suggest(study: optuna.Study, space: SearchSpace) -> Levels:
    trial = study.ask(space)
    # It counts once it was measured, as the candidate that was taken for it.
    study.tell(trial, state=TrialState.FAIL)
    return np.array([trial.params[knob] for knob in space], dtype=np.int64)
