"""Finds measurements that are given twice, so that no ranker is evaluated on its training data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...search import PIPELINE
from .recording import Recording

# Programs write a time with fewer digits, or in another unit. Repeated measurements of hundreds of
# candidates never agree so closely.
SAME = 1e-6
# Fewer times, and such as are rounded, may be the same by chance.
LEAST_TIMES = 4


def find_duplicate(recordings: Sequence[Recording]) -> tuple[int, int] | None:
    """The first two recordings that hold the same measurements, all of them or all of the shorter.

    Times are compared candidate by candidate, whatever the format, the order of the rows, and the
    names of kernel and device.
    """
    seen: dict[frozenset[str], list[tuple[int, pd.Series]]] = {}
    for number, recording in enumerate(recordings):
        times = _times(recording)
        others = seen.setdefault(frozenset(recording.knobs), [])
        for other, known in others:
            if _same(times, known):
                return other, number
        others.append((number, times))
    return None


def _times(recording: Recording) -> pd.Series:
    """Times by a hash of the candidate."""
    names = [*sorted(recording.knobs), PIPELINE]
    # The same number may be whole in one file and not in the other, which missing ones decide.
    words = recording.frame[names].map(_word)
    keys = pd.util.hash_pandas_object(words, index=False).to_numpy()
    times = pd.Series(recording.frame["time_us"].to_numpy(np.float64), keys)
    return times[~times.index.duplicated()]


def _word(value: Any) -> str:
    if pd.isna(value):
        return ""
    return repr(float(value)) if isinstance(value, int | float | np.number) else str(value)


def _same(one: pd.Series, other: pd.Series) -> bool:
    short, long = sorted((one, other), key=len)
    if short.nunique() < min(LEAST_TIMES, long.nunique()):
        return False
    if not short.index.isin(long.index).all():
        return False
    return np.allclose(short, long.reindex(short.index), rtol=SAME, atol=0, equal_nan=True)
