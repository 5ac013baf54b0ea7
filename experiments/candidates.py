"""The benchmark queue: candidates of all spaces of a problem, in a ranker's order."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd

from ..features import extract
from ..models import Ranker, order
from ..search import EXTRAS, Dispatch, InputError, build_spaces, derive, sample

PIPELINE = "pipeline"


def make_queue(
    dispatch: Dispatch,
    ranker: Ranker,
    *,
    pool: int,
    seed: int,
    pipeline: str | None = None,
    extras: Mapping[str, tuple[int, ...]] | None = None,
    alternate: bool = False,
) -> pd.DataFrame:
    """A uniform sample of `pool` candidates per space, best first.

    Args:
        pipeline: the only one to take candidates of; None for all.
        extras: knobs of GPU spaces to set free, with their values.
        alternate: whether pipelines take turns, each with its best that is left.

    Returns:
        One column per knob (empty where a candidate's pipeline lacks it) and `pipeline`.

    Raises:
        InputError: the problem has no candidate, or the pipeline cannot lower it.
    """
    frames, features = [], []
    for space in build_spaces(dispatch, pipeline, extras):
        candidates = sample(space, pool, seed)
        if len(candidates):
            features.append(extract(space.problem, space.target, derive(space, candidates)))
            frames.append(candidates.assign(**{PIPELINE: space.pipeline}))
    if not frames:
        raise InputError(
            f"the space of {dispatch.problem.label} is empty",
            dispatch.silence or "nothing can be tuned here",
        )
    ranked = order(ranker, pd.concat(features, ignore_index=True))
    queue = pd.concat(frames, ignore_index=True).iloc[ranked]
    if alternate:
        turns = queue.groupby(PIPELINE).cumcount()
        queue = queue.iloc[turns.to_numpy().argsort(kind="stable")]
    return queue.reset_index(drop=True)


def renderer(dispatch: Dispatch, queue: pd.DataFrame) -> Callable[[int], str]:
    """A function that renders the configuration of a queue position."""
    extras = {name: values for name, values in EXTRAS.items() if name in queue}
    spaces = {s.pipeline: s for s in build_spaces(dispatch, extras=extras)}

    def render(index: int) -> str:
        row = queue.iloc[index]
        knobs = row.drop(PIPELINE).dropna()
        return spaces[row[PIPELINE]].render({str(k): int(v) for k, v in knobs.items()})

    return render
