"""Kernel Tuner's strategies, run by its own code in its simulation mode.

Its `tune_kernel` makes a space from the product of all values, of which a recording holds a sample.
So the space is made from a cache, as its `Searchspace` can, and what follows is what `tune_kernel`
does then: the strategy runs with its simulation runner, which looks each configuration up.
"""

from __future__ import annotations

import contextlib
import functools
import io
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from kernel_tuner.interface import Options, strategy_map
from kernel_tuner.runners.simulation import SimulationRunner
from kernel_tuner.searchspace import Searchspace
from kernel_tuner.strategies import bayes_opt
from kernel_tuner.util import RuntimeFailedConfig, TuningBudget
from scipy.stats import qmc

from .objective import Subject

OBJECTIVE = "time"
# The candidates that strategies start with by default, and those for each knob.
START, START_PER_KNOB = 20, 16


class _Cache(dict[str, dict[str, Any]]):
    """Its cache of results: looking one up asks for it."""

    def __init__(
        self, entries: dict[str, dict[str, Any]], rows: dict[str, int], ask: Callable[[int], float]
    ) -> None:
        super().__init__(entries)
        self._rows = rows
        self._ask = ask

    def __getitem__(self, key: str) -> dict[str, Any]:
        time = self._ask(self._rows[key])
        failed = {"__error__": RuntimeFailedConfig()}
        return {**super().__getitem__(key), **(failed if np.isnan(time) else {OBJECTIVE: time})}


def search(subject: Subject, strategy: str) -> None:
    """Runs a strategy with its defaults where they fit, and the whole space as its budget."""
    knobs = _as_parameters(subject.knobs)
    entries: dict[str, dict[str, Any]] = {}
    rows: dict[str, int] = {}
    for row, values in enumerate(knobs.to_dict("records")):
        entry = {str(name): value for name, value in values.items()}
        entries.setdefault(_key(entry), entry)
        rows.setdefault(_key(entry), row)
    if len(entries) < 3:  # the first of two is any, and some strategies need three
        return
    parameters = {str(name): sorted(values.unique().tolist()) for name, values in knobs.items()}
    space = Searchspace(None, None, None, from_cache={"tune_params": parameters, "cache": entries})
    runner = SimulationRunner(
        None, Options(kernel_name="recorded"), Options(quiet=True), iterations=1, observers=None
    )
    options = Options(
        tune_params=parameters,
        cache=_Cache(entries, rows, subject.ask),
        # What is in the space is in the cache; all else is against the restrictions.
        restrictions=lambda config: False,
        strategy_options=Options(
            max_fevals=space.size, **_smaller_start(strategy, len(parameters), space.size)
        ),
        max_fevals=space.size,
        budget=TuningBudget(None, space.size),
        objective=[OBJECTIVE],
        objective_higher_is_better=[False],
        metrics=None,
        verbose=False,
    )
    with _seeded(subject.seed), _silent():
        strategy_map[strategy].tune(space, runner, options)


def _smaller_start(strategy: str, knobs: int, size: int) -> dict[str, Any]:
    """Options for a space that is smaller than what a strategy starts with, which then fails.

    Differential evolution draws half of it by itself, and goes on as if it had drawn more.
    """
    if strategy in ("bayes_opt", "firefly_algorithm") and size < START:
        return {"popsize": size}
    if strategy == "diff_evo" and size <= START_PER_KNOB * knobs:
        return {"popsize": round(size / 2), "popsize_times_dimensions": False}
    return {}


def _as_parameters(knobs: pd.DataFrame) -> pd.DataFrame:
    """Knobs that vary, as numbers where they are, words elsewhere.

    Where a candidate lacks a knob, it has a number below all others: as words, 1024 would come
    before 16, and strategies step from a value to the next.
    """
    varying = knobs.loc[:, knobs.nunique(dropna=False) > 1]
    columns = {
        str(name): values.fillna(values.min() - 1).astype(object)
        if pd.api.types.is_numeric_dtype(values)
        else values.map(lambda value: "" if pd.isna(value) else str(value)).astype(object)
        for name, values in varying.items()
    }
    return pd.DataFrame(columns)


def _key(entry: dict[str, Any]) -> str:
    return ",".join(map(str, entry.values()))


@contextlib.contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Its strategies draw from the generators that all share, which are left as they were.

    But for Latin hypercubes, which it seeds from the clock: here they get the seed.
    """
    before, numpy_before = random.getstate(), np.random.get_state()
    hypercube = qmc.LatinHypercube
    places = (qmc, bayes_opt)
    for place in places:
        place.LatinHypercube = functools.partial(hypercube, seed=seed)
    random.seed(seed)
    np.random.seed(seed)
    try:
        yield
    finally:
        random.setstate(before)
        np.random.set_state(numpy_before)
        for place in places:
            place.LatinHypercube = hypercube


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """It prints and warns about each configuration outside of the space."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield
