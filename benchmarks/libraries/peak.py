"""What this machine reaches at best, measured: arithmetic by NumPy's BLAS, memory by a copy."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from ...core import allowed_cpus
from ..measuring import PEAK_SECONDS, time_runs

# Large enough for BLAS to be at its best on two cores, and for a copy not to stay in caches.
SIZE = 768
BYTES = 128 * 1024**2


@dataclass(frozen=True)
class Peak:
    """What a machine reaches at best.

    Attributes:
        flops: operations a second in f32, on all threads.
        bandwidth: bytes a second that a copy on all threads moves.
    """

    flops: float
    bandwidth: float

    def least_us(self, flops: float, moved: float) -> float:
        """Lower bound (roofline) of the time for so many operations and bytes, in microseconds."""
        return 1e6 * max(flops / self.flops, moved / self.bandwidth)


def measure_peak(threads: int | None = None) -> Peak:
    """Takes two seconds: others on a machine only ever make it slower, for some ms at a time.

    Args:
        threads: all cores by default.
    """
    cores = threads or allowed_cpus()
    # A product that keeps each of many cores as busy as two.
    size = round(SIZE * max(1.0, cores / 2) ** (1 / 3))
    matrix = np.ones((size, size), np.float32)
    source = np.ones(BYTES, np.uint8)
    sink = np.empty_like(source)
    parts = list(zip(np.array_split(sink, cores), np.array_split(source, cores), strict=True))
    with ThreadPoolExecutor(cores) as pool, threadpool_limits(cores):
        arithmetic = _fastest(lambda: matrix @ matrix)
        memory = _fastest(lambda: list(pool.map(lambda part: np.copyto(*part), parts)))
    return Peak(2 * size**3 / arithmetic, 2 * BYTES / memory)


def _fastest(run: Callable[[], object]) -> float:
    """Seconds of the fastest of many runs."""
    run()
    return min(time_runs(run, PEAK_SECONDS).samples_us) / 1e6
