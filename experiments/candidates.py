"""The benchmark queue: candidates of all spaces of a problem, in a ranker's order."""

from __future__ import annotations

import pandas as pd

from ..features import extract
from ..models import Ranker, order
from ..search import InputError, Problem, Space, Target, build_spaces, sample

PIPELINE = "pipeline"


def make_queue(
    problem: Problem, target: Target, ranker: Ranker, *, pool: int, seed: int
) -> pd.DataFrame:
    """A uniform sample of `pool` candidates per space, best first.

    Returns:
        One column per knob (empty where a candidate's pipeline lacks it) and `pipeline`.

    Raises:
        InputError: the problem has no candidate.
    """
    frames, features = [], []
    for space in build_spaces(problem, target):
        candidates = sample(space, pool, seed)
        if len(candidates):
            features.append(extract(problem, target, candidates))
            frames.append(candidates.assign(**{PIPELINE: space.pipeline}))
    if not frames:
        raise InputError(f"the space of {problem.label} is empty", "nothing can be tuned here")
    ranked = order(ranker, pd.concat(features, ignore_index=True))
    return pd.concat(frames, ignore_index=True).iloc[ranked].reset_index(drop=True)


def render(spaces: dict[str, Space], row: pd.Series) -> str:
    """The `compilation_info` of one queue entry."""
    knobs = row.drop(PIPELINE).dropna()
    return spaces[row[PIPELINE]].render({str(k): int(v) for k, v in knobs.items()})
