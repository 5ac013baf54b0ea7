"""The adaptive ranker: Thompson sampling that starts from another ranker's order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from ..core import InputError
from ..features import CPU, Catalogue, detect_catalogue
from .ordering import scores_in_order
from .ranker import MAX_INT32, READY, AdaptiveRanker, Ranker, Scores, features, places
from .registry import create_seeded
from .resolving import names_a_file, resolve_ranker
from .training import TIME_COLUMN

Array = NDArray[np.float64]

USUAL, NOTHING = "usual", "nothing"

# Measured times are regressed on the prior's ranks: the slope that is expected beforehand, and how
# many measurements that expectation is worth. On 24 foreign spaces 10 took 10 % fewer candidates
# than 1.
SLOPE, SLOPE_WEIGHT = 0.5, 10.0
# After so many outcomes without a better one, every other batch is chosen without the prior: it may
# be right about all candidates but the best ones, and no outcome would tell.
PATIENCE = 16
# So many draws of what may be true, each the mean of so many trees: a tree alone is noise, and the
# mean of all never sees what it is wrong about. Without a prior it took 28 candidates on 101 spaces
# with five seeds (3 trees 28, 10 trees 29, the means of 20 of 100 trees 28), where a Gaussian
# process with expected improvement took 36; with one, 5.3 in place of 6.0.
DRAWS, TREES = 8, 5

# The prior's scores, in frames of candidates that were prepared.
PRIOR_SCORE = "prior_score"

_STREAM = 2


class ThompsonRanker(AdaptiveRanker):
    """Starts from another ranker's order and corrects it by what was measured.

    Times are explained by a line in the logarithm of the prior's rank, and what is left by
    randomised trees over features and rank: where the prior is wrong, the line's slope goes to zero
    and the trees decide alone. Each candidate of a batch is the one that a few trees of its own
    expect to be fastest (Thompson sampling): where little was measured trees differ, and so do
    their choices. After a prior, a share of each batch is random: it may be wrong about what no
    outcome would tell.
    """

    name = "adaptive"
    limits = AdaptiveRanker.limits | {"explore": (0, 1)}

    prior_: Ranker
    _measured: pd.DataFrame | None = None
    _resolved: tuple[str, Ranker] | None = None

    def __init__(
        self, *, prior: str = USUAL, batch: int = 8, explore: float = 0.125, seed: int = 0
    ) -> None:
        """
        Args:
            prior: name or file of the ranker to start from; `usual` for the one that is used where
                none is asked for, `nothing` to start at random. With a file, it cannot be trained.
            batch: how many candidates to take between two looks.
            explore: the share of a batch that is chosen at random; without a prior, none is.
            seed: of what is chosen at random, of the trees, and of the prior's training.
        """
        self.prior = prior
        self.batch = batch
        self.explore = explore
        self.seed = seed

    def fit(self, frame: pd.DataFrame, groups: ArrayLike) -> Self:
        """Trains the prior."""
        if learner := self._untrained_prior(self._catalogue(frame)):
            learner.on_progress = self.on_progress
            self.prior_ = learner.fit(frame, groups)
            del learner.on_progress
            self.catalogue_ = learner.catalogue_
        return self

    def prepare(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Asks the prior, which takes two thirds of the time that choosing eight of 8,192 takes."""
        prior = self._prior(frame) if len(frame) else None
        if prior is None or not prior.row_by_row:
            return frame
        return frame.assign(**{PRIOR_SCORE: scores_in_order(prior, [frame], len(frame))})

    def observe(self, measured: pd.DataFrame) -> Self:
        self._measured = measured
        return self

    def score(self, frame: pd.DataFrame) -> Scores:
        measured = self._measured
        if measured is None or not len(measured) or not len(frame):
            return self._start([frame], len(frame))
        count = len(measured)
        everything = pd.concat([measured.drop(columns=TIME_COLUMN, errors="ignore"), frame])
        values = features(everything, self._catalogue(frame), self.name)
        rng = np.random.default_rng([self.seed, _STREAM, count])
        times = measured[TIME_COLUMN].to_numpy(dtype=np.float64)
        prior = None if self._doubts_prior(times) else self._prior(frame)
        expected = _prior_scores(prior, [everything], len(everything))
        first: list[int] = []
        if np.isfinite(times).any():
            inputs = np.nan_to_num(np.column_stack([values, expected]).astype(np.float32))
            residual, expected = _fit_prior_line(times, expected)
            draws = expected[count:] + _draw_corrections(inputs, residual, rng)
            first = _pick_fastest(draws, self.batch, rng)
            expected[count:] = draws.mean(axis=0)
        return self._ranks(expected[count:], first, prior, rng)

    def score_chunks(self, chunks: Iterable[pd.DataFrame], count: int) -> Scores:
        if self._measured is None:
            return self._start(chunks, count)
        return super().score_chunks(chunks, count)

    def _start(self, chunks: Iterable[pd.DataFrame], count: int) -> Scores:
        """The order before anything was measured."""
        if not count:
            return np.empty(0)
        rest = iter(chunks)
        first = next(rest)
        features(first, self._catalogue(first), self.name)  # names missing features for this ranker
        prior, rng = self._prior(first), np.random.default_rng([self.seed, _STREAM, 0])
        expected = _prior_scores(prior, chain([first], rest), count)
        return self._ranks(expected, [], prior, rng)

    def _ranks(
        self, expected: Array, first: list[int], prior: Ranker | None, rng: np.random.Generator
    ) -> Scores:
        """Places from 0: the first ones, with a prior some at random, all others as expected."""
        shuffled = rng.permutation(len(expected))
        order = np.lexsort((shuffled, expected))
        share = 0.0 if prior is None else self.explore * self.batch
        # Of a small batch, now and then one.
        more = share % 1 > 0 and rng.random() < share % 1
        drawn = shuffled[: int(share) + more].tolist()
        at = self.batch - len(drawn)
        likely = [*first, *order[:at].tolist()][:at]
        return places(list(dict.fromkeys([*likely, *drawn, *first])), order)

    def _doubts_prior(self, times: Array) -> bool:
        """Whether to choose the next batch without the prior."""
        if not np.isfinite(times).any():
            return False
        since = len(times) - 1 - int(np.nanargmin(times))
        return since >= PATIENCE and len(times) // self.batch % 2 == 1

    def prior_for(self, catalogue: Catalogue) -> Ranker | None:
        if hasattr(self, "prior_"):
            return self.prior_
        name = self.prior
        if name == USUAL:
            name = READY.get(catalogue.name, NOTHING)
        if name == NOTHING:
            return None
        # A file is read once: it may be another one by the next batch.
        if self._resolved is None or self._resolved[0] != name:
            self._resolved = name, resolve_ranker(name, self.seed)
        return self._resolved[1]

    def _prior(self, frame: pd.DataFrame) -> Ranker | None:
        return self.prior_for(self._catalogue(frame))

    def _catalogue(self, frame: pd.DataFrame) -> Catalogue:
        return detect_catalogue(frame.columns) or self.catalogue_

    def dump(self) -> dict[str, bytes]:
        self._untrained_prior(self.catalogue_)  # refuses what `restore` would
        return self.prior_.dump() if hasattr(self, "prior_") else {}

    def restore(self, payload: Mapping[str, bytes]) -> Self:
        learner = self._untrained_prior(self.catalogue_)
        if payload and learner:
            learner.catalogue_ = self.catalogue_
            self.prior_ = learner.restore(payload)
        return self

    def _untrained_prior(self, catalogue: Catalogue) -> Ranker | None:
        """The prior before its training; None where there is none.

        Raises:
            InputError: it is a file's. That is trained already, and whoever loads a saved ranker
                must not be made to read another file, which may be endless.
        """
        name = self.prior
        if name == USUAL:
            name = "cpu" if catalogue.name == CPU.name else "lightgbm"
        if name == NOTHING:
            return None
        if names_a_file(name):
            raise InputError(
                f"ranker {self.name!r} with the file {name!r} as prior can only be used as it is, "
                "not trained or saved",
                "give the name of a ranker as prior",
            )
        return create_seeded(name, self.seed)


def _prior_scores(prior: Ranker | None, chunks: Iterable[pd.DataFrame], count: int) -> Array:
    """A prior's scores as standardised logarithms of ranks; all 0 without a prior.

    Args:
        chunks: at least one; of prepared candidates all or none.
    """
    if prior is None:
        return np.zeros(count)
    rest = iter(chunks)
    first = next(rest)
    every = chain([first], rest)
    if PRIOR_SCORE in first:
        scores = np.concatenate([one[PRIOR_SCORE].to_numpy(dtype=np.float64) for one in every])
    else:
        scores = scores_in_order(prior, every, count)
    # Those without a score come last, as in any order.
    return _standardize(np.log(rankdata(np.nan_to_num(scores, nan=np.inf, posinf=np.inf))))


def _draw_corrections(
    inputs: NDArray[np.float32], residual: Array, rng: np.random.Generator
) -> Array:
    """What may have to be added to expected times, in several draws.

    Args:
        inputs: of all candidates, those that were measured first.
        residual: of these, what is to be explained.

    Returns:
        A row per draw, a column per candidate that was not measured.
    """
    from sklearn.ensemble import ExtraTreesRegressor  # takes 1 s, and orders are often not adaptive

    count = len(residual)
    forest = ExtraTreesRegressor(
        DRAWS * TREES, bootstrap=True, random_state=int(rng.integers(MAX_INT32))
    )
    forest.fit(inputs[:count], residual)
    predicted = [tree.predict(inputs[count:], check_input=False) for tree in forest.estimators_]
    draws: Array = np.reshape(predicted, (DRAWS, TREES, -1)).mean(axis=1)
    return draws


def _pick_fastest(draws: Array, count: int, rng: np.random.Generator) -> list[int]:
    """The fastest by each draw in turn, each once; of those alike, one by lot."""
    shuffled = rng.permutation(draws.shape[1])
    left = draws[:, shuffled]
    picks: list[int] = []
    for turn in range(min(count, len(shuffled))):
        pick = int(np.argmin(left[turn % DRAWS]))
        left[:, pick] = np.inf
        picks.append(int(shuffled[pick]))
    return picks


def _fit_prior_line(times: Array, belief: Array) -> tuple[Array, Array]:
    """Fits a line of measured times over the prior: its residuals, and its prediction for all.

    Both are in deviations of the logarithms of the times; a failure is a little worse than the
    worst time.

    Args:
        times: of the first candidates.
        belief: of all.
    """
    logs = np.log(times)
    worst, best = np.nanmax(logs), np.nanmin(logs)
    spread = (worst - best) or 1.0
    values = _standardize(np.where(np.isnan(logs), worst + spread / 10, logs))
    line = np.column_stack([np.ones(len(belief)), belief])
    seen = line[: len(times)]
    pull = np.diag([0.0, SLOPE_WEIGHT])
    weights = np.linalg.lstsq(seen.T @ seen + pull, seen.T @ values + pull @ [0, SLOPE])[0]
    expected: Array = line @ weights
    return values - expected[: len(times)], expected


def _standardize(values: Array) -> Array:
    standard: Array = (values - values.mean()) / (values.std() or 1.0)
    return standard
