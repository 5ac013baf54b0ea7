"""The order of a whole queue, as `tune` makes it, where only some of it was measured."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...models import AdaptiveRanker, Ranker, order
from ...search import PIPELINE, Dispatch, Problem, Space, build_spaces
from ..learning import Case
from ..queue import sample_with_features


@dataclass(frozen=True, eq=False)
class FullQueue:
    """The measured candidates of a case in the order in which they stand in the queue.

    Attributes:
        rows: of the case.
        skipped: how many candidates that were not measured stand before each; NaN where the case is
            all that is known of its space.
    """

    rows: NDArray[np.intp]
    skipped: NDArray[np.float64]

    @classmethod
    def of(cls, ranker: Ranker, case: Case) -> Self:
        """Orders a case's candidates, among all others that `tune` would choose from.

        A ranker that looks back chooses among measured ones only, since it has to be told their
        times.
        """
        frame = case.features
        if isinstance(ranker, AdaptiveRanker):
            frame = case.knobs if ranker.reads_knobs else frame
        others = None if isinstance(ranker, AdaptiveRanker) else unmeasured_features(case)
        if others is None:
            rows = order(ranker, frame)
            return cls(rows, np.full(len(rows), np.nan))
        # Among others at random, for neither the one nor the other to come first where ranks tie.
        count = len(frame) + len(others)
        among = np.zeros(count, bool)
        among[np.random.default_rng(0).choice(count, len(frame), replace=False)] = True
        rows = np.empty(count, np.intp)
        rows[among] = np.arange(len(frame))
        rows[~among] = np.arange(len(frame), count)
        together = pd.concat([frame, others[list(frame)]], ignore_index=True)
        found = rows[order(ranker, together.iloc[rows])]
        measured = found < len(frame)
        return cls(found[measured], np.cumsum(~measured)[measured].astype(np.float64))


@lru_cache(maxsize=1)
def unmeasured_features(case: Case) -> pd.DataFrame | None:
    """Features of the candidates in the queue that were not measured.

    None for a uniform sample alone, which is judged by itself, and where the compiler's constraints
    would have to be had to know the space.
    """
    about = case.recording.provenance
    if about.drawn is None or about.drawn.pool is None or case.uniform is None:
        return None
    if not isinstance(about.problem, Problem) or about.target is None or about.target.gpu:
        return None
    dispatch = Dispatch(about.problem, about.target, "", "", (), (), "", ())
    plain = build_spaces(dispatch, about.drawn.pipeline, about.drawn.extras)
    spaces = [_with_default(space, case) for space in plain]
    candidates, features = sample_with_features(spaces, about.drawn.pool, about.seed or 0)
    names = [name for name in case.knobs if name in candidates]
    measured = pd.MultiIndex.from_frame(case.knobs[names].astype(object).fillna(0))
    drawn = pd.MultiIndex.from_frame(candidates[names].astype(object).fillna(0))
    return features[~drawn.isin(measured)]


def _with_default(space: Space, case: Case) -> Space:
    """The space with the compiler's default, as `tune` has it, where that was recorded."""
    if case.default is None:
        return space
    chosen = case.knobs.iloc[case.default].dropna()
    names = [knob.name for knob in space.knobs]
    if chosen.get(PIPELINE) != space.pipeline or not {*names} <= {*chosen.index}:
        return space
    return space.with_default({name: int(chosen[name]) for name in names})
