"""Finds measurements that are given twice, so that no ranker is evaluated on its training data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
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
    names of kernel and device. A recording in which nothing ran is no copy.
    """
    alike = defaultdict[frozenset[str], dict[int, pd.Series]](dict)
    for number, recording in enumerate(recordings):
        alike[frozenset(recording.knobs)][number] = _times(recording)
    copies = (
        (second, first)
        for times in alike.values()
        for second, first in _likely_pairs(times)
        if _same(times[second], times[first])
    )
    found = min(copies, default=None)
    return None if found is None else (found[1], found[0])


def _likely_pairs(times: Mapping[int, pd.Series]) -> set[tuple[int, int]]:
    """Pairs, the later one first, of which one holds the first time of the other, as copies do.

    Of thousands with the same knobs, to compare each with each takes too long.
    """
    keys = np.concatenate([one.index.to_numpy() for one in times.values()])
    values = np.concatenate([one.to_numpy() for one in times.values()])
    owners = np.repeat([*times], [len(one) for one in times.values()])
    order = np.lexsort((values, keys))
    keys, values, owners = keys[order], values[order], owners[order]
    pairs: set[tuple[int, int]] = set()
    for number, own in times.items():
        known = own.dropna()
        if known.empty:
            continue
        candidate, time = known.index.to_numpy()[0], float(known.iloc[0])
        start = np.searchsorted(keys, candidate, "left")
        end = np.searchsorted(keys, candidate, "right")
        low = np.searchsorted(values[start:end], time * (1 - 2 * SAME), "left")
        high = np.searchsorted(values[start:end], time * (1 + 2 * SAME), "right")
        others = owners[start + low : start + high].tolist()
        pairs |= {(max(number, one), min(number, one)) for one in others if one != number}
    return pairs


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
