"""Times of single runs, the same for kernels and for other libraries."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from .constants import GIVE_UP_SECONDS, MIN_RUNS


@dataclass(frozen=True)
class Timing:
    """Times of single runs, or why there are none."""

    samples_us: tuple[float, ...] = ()
    wrong: str | None = None


def time_runs(
    run: Callable[[], object], seconds: float, give_up_us: float = math.inf, least: int = MIN_RUNS
) -> Timing:
    """Runs something for a while, and a least number of times.

    Args:
        give_up_us: what is slower than this is not timed any longer, after `GIVE_UP_SECONDS`.
    """
    samples: list[float] = []
    fastest = math.inf
    start = now = time.perf_counter()
    while len(samples) < least or now - start < seconds:
        # What is done between runs is in none of them.
        begun = time.perf_counter()
        run()
        now = time.perf_counter()
        samples.append((now - begun) * 1e6)
        fastest = min(fastest, samples[-1])
        long_enough = len(samples) >= least and now - start >= GIVE_UP_SECONDS
        if long_enough and fastest > give_up_us:
            break
    return Timing(tuple(samples))
