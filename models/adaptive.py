"""The adaptive ranker: Bayesian optimisation that starts from another ranker's order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from ..core import InputError
from ..features import CPU, Catalogue, detect_catalogue
from .gaussian import Array, GaussianProcess, Kernel
from .ranker import READY, AdaptiveRanker, Ranker, Scores, features, places
from .registry import create_seeded
from .resolving import names_a_file, resolve_ranker
from .training import TIME_COLUMN

USUAL, NOTHING = "usual", "nothing"

# Measured times are regressed on the prior's ranks: the slope that is expected beforehand, and how
# many measurements that expectation is worth. On 24 foreign spaces 10 took 10 % fewer candidates
# than 1.
SLOPE, STUBBORN = 0.5, 10.0
# After so many outcomes without a better one, every other batch is chosen without the prior: it may
# be right about all candidates but the best ones, and no outcome would tell.
PATIENCE = 16
# The kernel is learned from 8 measurements, and again when there are so many times more; from the
# best, and others at random, where there are more than this.
FIRST, GROWTH = 8, 1.4
BEST, OTHERS = 40, 120
# Candidates that the process looks at, half of them at random: 8 choices among so many take 0.5 s.
SHORTLIST = 4096
# Of two features that vary alike, one is enough: there are fewer length scales to learn.
MAX_CORRELATION = 0.95
SAMPLE = 2000

_STREAM = 2


class GaussianRanker(AdaptiveRanker):
    """Starts from another ranker's order and corrects it by what was measured.

    Times are explained by a line in the logarithm of the prior's rank, and what is left by a
    Gaussian process over the features. Where the prior is wrong, the line's slope goes to zero and
    the process decides alone. What promises most improvement comes next, and a share of each batch
    at random: greed would never see what prior and process are both wrong about.
    """

    name = "adaptive"
    limits = AdaptiveRanker.limits | {"explore": (0, 1)}

    prior_: Ranker
    _measured: pd.DataFrame | None = None
    _learned: Mapping[bool, tuple[bytes, Kernel]] = MappingProxyType({})

    def __init__(
        self, *, prior: str = USUAL, batch: int = 8, explore: float = 0.25, seed: int = 0
    ) -> None:
        """
        Args:
            prior: name or file of the ranker to start from; `usual` for the one that is used where
                none is asked for, `nothing` to start at random. With a file, it cannot be trained.
            batch: how many candidates to take between two looks.
            explore: the share of a batch that is chosen at random.
            seed: of what is chosen at random, and of the prior's training.
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
        doubting = self._skips_prior(times)
        prior = None if doubting else self._prior(frame)
        expected = _prior_scores(prior, [everything], len(everything))
        first: list[int] = []
        inputs = _scale_features(values, everything.index)
        if np.isfinite(times).any() and inputs.size:
            kernel = self._kernel(inputs[:count], expected[:count], times, doubting)
            residual, expected = _fit_prior_line(times, expected)
            process = GaussianProcess(kernel, inputs[:count], residual)
            best = float((residual + expected[:count]).min())
            likely = count + _shortlist(expected[count:], rng)
            picks = process.suggest(inputs[likely], expected[likely], best, self.batch)
            first = [int(i) - count for i in likely[picks]]
        return self._ranks(expected[count:], first, rng)

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
        expected = _prior_scores(self._prior(first), chain([first], rest), count)
        return self._ranks(expected, [], np.random.default_rng([self.seed, _STREAM, 0]))

    def _ranks(self, expected: Array, first: list[int], rng: np.random.Generator) -> Scores:
        """Places from 0: the first ones, some at random, and all others as expected."""
        shuffled = rng.permutation(len(expected))
        order = np.lexsort((shuffled, expected))
        share = self.explore * self.batch
        # Of a small batch, now and then one.
        more = share % 1 > 0 and rng.random() < share % 1
        drawn = shuffled[: int(share) + more].tolist()
        at = self.batch - len(drawn)
        likely = [*first, *order[:at].tolist()][:at]
        return places(list(dict.fromkeys([*likely, *drawn, *first])), order)

    def _skips_prior(self, times: Array) -> bool:
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
        return None if name == NOTHING else resolve_ranker(name, self.seed)

    def _prior(self, frame: pd.DataFrame) -> Ranker | None:
        return self.prior_for(self._catalogue(frame))

    def _catalogue(self, frame: pd.DataFrame) -> Catalogue:
        return detect_catalogue(frame.columns) or self.catalogue_

    def _kernel(self, inputs: Array, belief: Array, times: Array, doubting: bool) -> Kernel:
        """The kernel learned from the first 8, 11, 15, ... measurements, not anew at each call.

        It depends on nothing else, so that a run which is resumed takes the same order.
        """
        size = FIRST
        while int(size * GROWTH) <= len(times):
            size = int(size * GROWTH)
        first_success = int(np.argmax(np.isfinite(times)))
        size = max(min(size, len(times)), first_success + 1)  # failures alone teach nothing
        # Candidates that were killed are known no more, and with them features may vary no more.
        key = times[:size].tobytes() + inputs.shape[1].to_bytes(4, "little")
        learned_from, kernel = self._learned.get(doubting, (b"", None))
        if kernel is None or learned_from != key:
            residual, _ = _fit_prior_line(times[:size], belief[:size])
            rows = np.arange(size)
            if size > BEST + OTHERS:
                ranked = np.argsort(residual, kind="stable")
                rng = np.random.default_rng([self.seed, _STREAM, size])
                others = ranked[BEST:][rng.permutation(size - BEST)[:OTHERS]]
                rows = np.concatenate([ranked[:BEST], others])
            kernel = Kernel.fit(inputs[rows], residual[rows])
            self._learned = {**self._learned, doubting: (key, kernel)}
        return kernel

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
    """The prior's scores as standardised logarithms of ranks; all 0 without a prior."""
    if prior is None:
        return np.zeros(count)
    return _standardize(np.log(rankdata(prior.score_chunks(chunks, count))))


def _scale_features(values: NDArray[np.float32], labels: pd.Index) -> Array:
    """Features from 0 to 1, without those that vary like another.

    A sample by labels tells which: the rows' places change as candidates are measured.
    """
    rows = np.argsort(labels.to_numpy(), kind="stable")[:: max(1, len(values) // SAMPLE)]
    sample = values[rows].astype(np.float64)
    varies = np.flatnonzero(np.nan_to_num(np.ptp(sample, axis=0)) > 0)
    if not len(varies):
        return np.empty((len(values), 0))
    alike = np.abs(np.atleast_2d(np.corrcoef(sample[:, varies], rowvar=False))) >= MAX_CORRELATION
    kept: list[int] = []
    for column in range(len(varies)):
        if not alike[column, kept].any():
            kept.append(column)
    chosen = np.nan_to_num(values[:, varies[kept]]).astype(np.float64)
    low, high = chosen.min(axis=0), chosen.max(axis=0)
    inputs: Array = (chosen - low) / (high - low)
    return inputs


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
    pull = np.diag([0.0, STUBBORN])
    weights = np.linalg.lstsq(seen.T @ seen + pull, seen.T @ values + pull @ [0, SLOPE])[0]
    expected: Array = line @ weights
    return values - expected[: len(times)], expected


def _shortlist(expected: Array, rng: np.random.Generator) -> NDArray[np.intp]:
    """Candidates to look at: all of a few; of many, the most promising and others at random."""
    if len(expected) <= SHORTLIST:
        return np.arange(len(expected))
    order = np.argsort(expected, kind="stable")
    half = SHORTLIST // 2
    return np.concatenate([order[:half], rng.choice(order[half:], half, replace=False)])


def _standardize(values: Array) -> Array:
    standard: Array = (values - values.mean()) / (values.std() or 1.0)
    return standard
