"""Times of candidates from measurements in blocks, without what a block has in common.

The logarithm of a time is taken as the candidate's, plus the block's, plus noise: a median polish
finds both. On two kernels it halved the error of ratios to the baseline beside them, which add the
baseline's noise to the candidate's. Intervals of such ratios are here as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .outcome import BASELINE

STEPS = 10
# The noise of one measurement where too few tell it: so many, of candidates with so many rounds.
USUAL_NOISE = 0.15
ENOUGH, ENOUGH_ROUNDS = 30, 3
# Of a normal distribution: the interquartile range over the standard deviation, and the standard
# error of the median over that of the mean.
IQR_PER_DEVIATION = 1.35
MEDIAN_ERROR_RATIO = 1.25
# Intervals of 95 %: one value in so many lies outside.
OUTSIDE_ONE_IN = 20


@dataclass(frozen=True)
class Repeat:
    """One more measurement.

    Attributes:
        index: the candidate's place in the queue, or `BASELINE`.
        time_us: None if it failed this time.
        block: number of the block that it was measured in, on its device.
    """

    index: int
    time_us: float | None
    block: int
    device: str

    def to_record(self) -> dict[str, Any]:
        return {"repeat": asdict(self)}


@dataclass(frozen=True)
class Estimate:
    """What is known of a candidate's time.

    Attributes:
        relative: its time as a share of the baseline's.
        error: the standard error of `relative`, as a share of it.
        rounds: how many measurements in blocks it rests on.
        spread: their interquartile range, as a share of `relative`; None without rounds.
    """

    relative: float
    error: float
    rounds: int
    spread: float | None

    @classmethod
    def of_one(cls, relative: float) -> Estimate:
        """From a single measurement beside the baseline."""
        return cls(relative, USUAL_NOISE, 0, None)


def estimates(repeats: Sequence[Repeat]) -> dict[int, Estimate]:
    """The estimates of all candidates that were measured in blocks, by queue position."""
    found: dict[int, Estimate] = {}
    for device in dict.fromkeys(repeat.device for repeat in repeats):
        found |= polish([r for r in repeats if r.device == device and r.time_us is not None])
    return found


def polish(repeats: Sequence[Repeat]) -> dict[int, Estimate]:
    """Estimates by queue position, and of the baseline; every block has measured the baseline."""
    indices, item = np.unique([repeat.index for repeat in repeats], return_inverse=True)
    _, block = np.unique([repeat.block for repeat in repeats], return_inverse=True)
    logs = np.log(np.array([repeat.time_us for repeat in repeats], np.float64))
    # Every block has a baseline: a start from which few steps are left.
    baseline = list(indices).index(BASELINE)
    drift = np.empty(block.max() + 1)
    drift[block[item == baseline]] = logs[item == baseline]
    for _ in range(STEPS):
        own = _medians(logs - drift[block], item)
        drift = _medians(logs - own[item], block)
    noise = logs - drift[block] - own[item]
    # Of what was measured once none is left, nor of a baseline that its blocks take for drift.
    telling = noise[(np.bincount(item)[item] >= ENOUGH_ROUNDS) & (item != baseline)]
    usual = _spread(telling) / IQR_PER_DEVIATION if len(telling) >= ENOUGH else USUAL_NOISE
    found = {}
    for at, index in enumerate(indices.tolist()):
        mine = noise[item == at]
        found[index] = Estimate(
            relative=float(np.exp(own[at] - own[baseline])),
            error=float(MEDIAN_ERROR_RATIO * usual / np.sqrt(len(mine))),
            rounds=len(mine),
            spread=_spread(mine),
        )
    return found


def median_interval(values: ArrayLike) -> tuple[float, float]:
    """The exact 95 % interval of a median, between two of the values (order statistics).

    Whatever their distribution, it covers the median at least so often if the values are
    independent. Those of one run are not quite: what slows down one round may slow down the next,
    and then it covers less. Fewer than six values cannot say as much: theirs is all that they span.
    By bootstrap, intervals of 6 to 12 values covered the median in 89 to 93 % of simulations.
    """
    ordered = np.sort(np.asarray(values, np.float64))
    count = len(ordered)
    # In how many of 2^count throws of coins no more than so many heads come up: as often, no more
    # values lie below the median. Whole numbers: those of 64 values overflow NumPy's.
    tails = accumulate(comb(count, heads) for heads in range(count))
    rare = [tail for tail in tails if 2 * tail * OUTSIDE_ONE_IN <= 2**count]
    outside = max(0, len(rare) - 1)
    return float(ordered[outside]), float(ordered[count - 1 - outside])


def noise_floor(interval: tuple[float, float]) -> float:
    """How far a ratio of something to itself strays from 1, by the ratio's interval."""
    low, high = interval
    return max(1 - low, high - 1, 0.0)


def _medians(values: NDArray[np.float64], group: NDArray[np.intp]) -> NDArray[np.float64]:
    """The median of each group; groups are numbered from 0."""
    order = np.lexsort((values, group))
    sizes = np.bincount(group)
    starts = np.cumsum(sizes) - sizes
    low, high = order[starts + (sizes - 1) // 2], order[starts + sizes // 2]
    medians: NDArray[np.float64] = (values[low] + values[high]) / 2
    return medians


def _spread(values: NDArray[np.float64]) -> float:
    return float(np.quantile(values, 0.75) - np.quantile(values, 0.25))
