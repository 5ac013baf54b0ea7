"""How good an order of candidates is, and what a random order comes to, exactly.

Orders are judged by the times of candidates in the order in which they were taken; NaN is a failed
candidate, which costs an iteration as any other. Candidates of which nothing is known, since they
were killed from outside, are in no case (`learning.drop_killed`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ...benchmarks.measuring import NEAR_OPTIMAL

Floats = NDArray[np.float64]

# A candidate is near-optimal within the middle one; the others are reported beside it.
NEAR_LEVELS = (0.01, 0.05, 0.10)
BEST_OF_KS = (1, 8, 16, 64)
# A spec is worth having where the best of so many candidates is faster by more than this.
SPEC_K, SPEC_GAIN = 64, 0.05
# Of the way from the median to the optimum; as in the authors' examples.
CUTOFF = 0.95
# Of what random order starts with: what counts as the optimum where the median is.
_NOTHING_LEFT = 1e-3


@dataclass(frozen=True, eq=False)
class CaseReference:
    """Best, worst and random-search figures of a case, against which every order is scored.

    Attributes:
        best: the shortest time known.
        worst: the longest time, which stands for a failure where a time is needed.
        baseline: how far above `best` a random order's best time is expected to be after 1, 2, ...
            candidates, up to the budget of the performance score.
        near: for each of `NEAR_LEVELS`, how many of the uniform sample are that near the best.
        shares: of the uniform sample, best over own time, from the best on; 0 for a failure.
        default: the time of the compiler's default; NaN where that is not known.
    """

    best: float
    worst: float
    baseline: Floats
    near: dict[float, int]
    shares: Floats
    default: float = np.nan

    @classmethod
    def of(
        cls, times: Floats, default: float = np.nan, uniform: NDArray[np.bool_] | None = None
    ) -> Self:
        """The reference of a case.

        Args:
            times: of all its candidates; at least one is not NaN.
            default: of the compiler's default; NaN where that is not known.
            uniform: which candidates are a uniform sample, of which random order is a fair one; all
                if None.
        """
        best, worst = float(np.nanmin(times)), float(np.nanmax(times))
        sample = times if uniform is None else times[uniform]
        excess = np.sort(np.nan_to_num(sample, nan=worst)) - best
        # Where all of the sample failed, random search never comes near.
        median = best if np.isnan(sample).all() else float(np.nanmedian(sample))
        cutoff = (1 - CUTOFF) * (median - best)
        return cls(
            best=best,
            worst=worst,
            baseline=_baseline(excess, cutoff),
            near={level: int(is_near_optimal(sample, best, level).sum()) for level in NEAR_LEVELS},
            shares=np.sort(relative_speed(sample, best))[::-1],
            default=default,
        )

    @property
    def candidates(self) -> int:
        return len(self.shares)

    @property
    def difficulty(self) -> float:
        """The share of candidates that are near-optimal: the smaller, the harder."""
        return self.near[NEAR_OPTIMAL] / self.candidates

    @property
    def default_wins(self) -> bool:
        """Whether no candidate is faster than the default: there is nothing to be found."""
        return bool(self.default <= self.best)

    def regrets(self, times: Floats) -> Floats:
        """How much slower than the best known a user ends up who keeps each of these, as a share.

        That user keeps the default where it is faster, or where a candidate fails; what fails where
        no default is known counts as the slowest candidate.
        """
        fallback = self.worst if np.isnan(self.default) else self.default
        known = float(np.fmin(self.best, self.default))
        return np.fmin(times, fallback) / known - 1

    def gains(self, times: Floats) -> Floats:
        """Which times beat the default by more than `SPEC_GAIN`, as 1 and 0; NaN if it is not
        known."""
        if np.isnan(self.default):
            return np.full(len(times), np.nan)
        return (times * (1 + SPEC_GAIN) < self.default).astype(np.float64)

    def expected_iterations(self, within: float = NEAR_OPTIMAL) -> float:
        """How many candidates random order takes on average until one is that near the best.

        One more than there are, where none of the uniform sample is: it takes that many at least.
        """
        return (self.candidates + 1) / (self.near[within] + 1)

    def expected_log_iterations(self, within: float = NEAR_OPTIMAL) -> float:
        """The expected logarithm of what random order takes.

        It goes into geometric means: the mean's own logarithm is above it by up to 0.58, so that
        against that one, any random order would seem to take 1.8 times fewer.
        """
        near = self.near[within]
        taken = np.arange(self.candidates - near)
        missed = np.cumprod((self.candidates - near - taken) / (self.candidates - taken))
        return float(missed @ np.diff(np.log(np.arange(1, len(taken) + 2))))

    def is_decided(self, taken: Floats) -> bool:
        """Whether no metric depends on what is taken after these, but the score over time.

        That is a lower bound for an order that stops here after cheap candidates.
        """
        enough = len(taken) >= max(*BEST_OF_KS, len(self.baseline))
        return enough and bool(is_near_optimal(taken, self.best, min(NEAR_LEVELS)).any())


def order_metrics(reference: CaseReference, taken: Floats, seconds: Floats) -> dict[str, float]:
    """All metrics of an order.

    Args:
        taken: times in the order in which candidates were taken, at least until
            `reference.is_decided`.
        seconds: what taking each of them cost; NaN where that is not known.

    Returns:
        `iterations_1`, `_5` and `_10`: how many candidates are taken until the first within as many
        percent of the best; `log_iterations_1`, ...: their logarithms; `best_of_1`, `_8`, `_16` and
        `_64`: the best time as a share of the best among the first so many, 0 if they all failed;
        `score`: see `performance_score`; `seconds`: what it costs until the first near-optimal one;
        `regret_1`, ...: see `CaseReference.regrets`, of the best of the first so many; `spec`:
        whether one of the first 64 beats the default by more than 5 %, NaN if that is not known.
    """
    curve = best_shares(taken, reference.best)
    regrets = np.minimum.accumulate(reference.regrets(taken))
    found = {level: iterations_to(taken, reference.best, level) for level in NEAR_LEVELS}
    return {
        **{_iterations(level): float(count) for level, count in found.items()},
        **{f"log_{_iterations(level)}": float(np.log(count)) for level, count in found.items()},
        **_at_ks("best_of", curve),
        "score": performance_score(reference, taken),
        "seconds": float(seconds[: found[NEAR_OPTIMAL]].sum()),
        **_at_ks("regret", regrets),
        "spec": float(reference.gains(taken[:SPEC_K]).max()),
    }


def expected_metrics(reference: CaseReference, times: Floats, seconds: Floats) -> dict[str, float]:
    """The exact expectation of all metrics over uniformly random orders; see `order_metrics`.

    Args:
        times: of the uniform sample.
        seconds: likewise.
    """
    curve = expected_best(reference.shares, max(BEST_OF_KS))
    regrets = expected_best(np.sort(reference.regrets(times)), max(BEST_OF_KS))
    gains = expected_best(np.sort(reference.gains(times))[::-1], SPEC_K)
    good = is_near_optimal(times, reference.best)
    to_find_s = float(seconds[good].mean()) if good.any() else 0.0
    # A candidate that is not near-optimal is as likely to come before all the near-optimal ones as
    # it is to come after the first, after the second, ...
    seconds_before = float(seconds[~good].sum()) / (int(good.sum()) + 1)
    return {
        **{_iterations(level): reference.expected_iterations(level) for level in NEAR_LEVELS},
        **{f"log_{_iterations(x)}": reference.expected_log_iterations(x) for x in NEAR_LEVELS},
        **_at_ks("best_of", curve),
        "score": 0.0,
        "seconds": seconds_before + to_find_s,
        **_at_ks("regret", regrets),
        "spec": float(gains[-1]),
    }


def is_near_optimal(times: Floats, best: float, within: float = NEAR_OPTIMAL) -> NDArray[np.bool_]:
    """Which times are within a share of the best; failures are not."""
    return times <= best * (1 + within)


def relative_speed(times: Floats, best: float) -> Floats:
    """The best time as a share of each; 0 for failures."""
    return np.nan_to_num(best / times, nan=0.0)


def iterations_to(taken: Floats, best: float, within: float = NEAR_OPTIMAL) -> int:
    """How many candidates are taken until the first that is within a share of the best.

    Raises:
        ValueError: none of them is.
    """
    hits = np.flatnonzero(is_near_optimal(taken, best, within))
    if not len(hits):
        raise ValueError(f"none of {len(taken)} candidates is within {within:.0%} of the best")
    return int(hits[0]) + 1


def best_shares(taken: Floats, best: float) -> Floats:
    """The best so far after each candidate, as a share of the optimum; 0 while all failed."""
    return np.maximum.accumulate(relative_speed(taken, best))


def performance_score(reference: CaseReference, taken: Floats) -> float:
    """How much better than random search an order does within a budget: 1 is the optimum at once.

    This is the score of Willemsen et al., "A methodology for comparing optimization algorithms for
    auto-tuning", Future Generation Computer Systems 159, 2024, 10.1016/j.future.2024.05.021, for
    one space: the mean over the budget of (baseline - found) / (baseline - optimum), where
    `baseline` and `found` are the best times so far of random search and of the order, and the
    budget ends where the baseline has come 95 % of the way from the median to the optimum. 0 is as
    good as random search, and there is no lower limit. It differs from what the authors' package
    (autotuning_methodology 1.x) computes in four ways:

    * The budget is counted in candidates, each of the same weight, not in time.
    * The baseline is the exact expectation of random search's best time; theirs is the time whose
      rank is the expected rank, smoothed.
    * Failures count: they take a place in the baseline and in the order, and until something has
      worked, the best time so far is the slowest of the space. Theirs leaves them out of the
      baseline.
    * The budget starts with the first candidate; theirs where the baseline has come 1 % of the way.
    """
    budget = len(reference.baseline)
    padded = np.nan_to_num(taken[:budget], nan=reference.worst)
    return _mean_gain(reference, np.minimum.accumulate(padded))


def time_score(reference: CaseReference, taken: Floats, seconds: Floats, usual_s: float) -> float:
    """As `performance_score`, with the budget counted in time, in which fast candidates are cheap.

    Random search takes `usual_s` per candidate; an order has the best of those that it has finished
    by then, and the slowest time of the space before the first. NaN where costs are not known.
    """
    budget = len(reference.baseline)
    ends = np.cumsum(seconds)
    if np.isnan(ends).any() or not usual_s > 0:
        return float("nan")
    done = np.searchsorted(ends, usual_s * np.arange(1, budget + 1) * (1 + 1e-9), side="right")
    best = np.minimum.accumulate(np.nan_to_num(taken, nan=reference.worst))
    return _mean_gain(reference, np.concatenate([[reference.worst], best])[done])


def _mean_gain(reference: CaseReference, found: Floats) -> float:
    """The mean over the budget of what an order has found more than random search."""
    excess = found - reference.best
    # Where random search is sure to have the optimum, so has any order: neither is better.
    sure = reference.baseline == 0
    return float(np.mean(np.where(sure, 0.0, 1 - excess / np.where(sure, 1.0, reference.baseline))))


def expected_best(ranked: Floats, count: int | None = None) -> Floats:
    """The expected best of the first 1, 2, ... values in uniformly random order, exactly.

    Args:
        ranked: the values, from the best on.
        count: how many to go up to; all if None or more than there are.
    """
    n = len(ranked)
    count = n if count is None else min(count, n)
    steps = np.diff(ranked)
    worse = np.arange(n - 1, 0, -1)  # how many come after each value but the last
    # The best of the first so many is worse than a value if all of them are.
    all_worse = np.ones(n - 1)
    found = np.empty(count)
    for taken in range(count):
        all_worse *= np.maximum(worse - taken, 0) / (n - taken)
        found[taken] = ranked[0] + steps @ all_worse
    return found


def _baseline(excess: Floats, cutoff: float) -> Floats:
    if cutoff == 0:  # most candidates are the best, and random search never is for certain
        cutoff = _NOTHING_LEFT * float(excess.mean())
    count = 64
    # Most budgets are short, and all of a curve takes time that grows with the square of the space.
    while (curve := expected_best(excess, count))[-1] > cutoff and count < len(excess):
        count *= 2
    # Where random search never comes that near, all of it is the budget.
    return curve[: int(np.argmax(curve <= cutoff)) + 1] if curve[-1] <= cutoff else curve


def _at_ks(name: str, curve: Floats) -> dict[str, float]:
    """What a curve is after each of `BEST_OF_KS`, or after all candidates if they are fewer."""
    return {f"{name}_{k}": float(curve[min(k, len(curve)) - 1]) for k in BEST_OF_KS}


def _iterations(level: float) -> str:
    return f"iterations_{level * 100:.0f}"
