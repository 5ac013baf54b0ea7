"""The benchmark queue: candidates of all spaces of a problem, in a ranker's order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...core import NotTunableError
from ...features import extract
from ...models import Ranker, order_chunks
from ...search import (
    DERIVED,
    PIPELINE,
    CannotRender,
    Dispatch,
    Space,
    backend_named,
    build_spaces,
    executable_pipeline,
)
from ...search.enumeration import add_derived_columns, sample
from .configuration import Configuration

# Candidates whose features are there at once: with what these are made of, some 30 MB. It takes as
# long with four times as many.
CHUNK = 16_384


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
    """`pool` candidates per space, a uniform sample and the compiler's default, best first.

    Args:
        pipeline: the only one to take candidates of; None for all.
        extras: knobs of GPU spaces to set free, with their values.
        alternate: whether pipelines take turns, each with its best that is left.

    Returns:
        One column per knob (empty where a candidate's pipeline lacks it) and `pipeline`.

    Raises:
        InputError: the problem has no candidate, or the pipeline cannot lower it.
    """
    drawn = _draw(build_spaces(dispatch, pipeline, extras), pool, seed)
    check_not_empty(drawn, dispatch)
    count = sum(len(candidates) for _, candidates in drawn)
    rows = order_chunks(ranker, _feature_chunks(drawn), count)
    if alternate:
        spaces = pd.Series(_numbers(drawn)[rows])
        turns = spaces.groupby(spaces).cumcount()
        rows = rows[turns.to_numpy().argsort(kind="stable")]
    return _joined(drawn, rows)


def sample_with_features(
    spaces: Iterable[Space], pool: int, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """`pool` candidates per space, as `make_queue` takes them, and their features.

    Returns:
        The candidates, with columns as those of `make_queue`, and a row of features for each; both
        empty where no space has any.
    """
    drawn = _draw(spaces, pool, seed)
    if not drawn:
        return pd.DataFrame(), pd.DataFrame()
    count = sum(len(candidates) for _, candidates in drawn)
    features = pd.concat(_feature_chunks(drawn), ignore_index=True)
    return _joined(drawn, np.arange(count)), features


Drawn = list[tuple[Space, pd.DataFrame]]


def _draw(spaces: Iterable[Space], pool: int, seed: int) -> Drawn:
    """`pool` candidates of each space that has any."""
    drawn = [(space, _with_default(space, sample(space, pool, seed))) for space in spaces]
    return [(space, candidates) for space, candidates in drawn if len(candidates)]


def _feature_chunks(drawn: Drawn) -> Iterator[pd.DataFrame]:
    """The features of all candidates, of some at a time."""
    for space, candidates in drawn:
        for start in range(0, len(candidates), CHUNK):
            chunk = candidates.iloc[start : start + CHUNK]
            yield extract(space.problem, space.target, add_derived_columns(space, chunk))


def _joined(drawn: Drawn, rows: NDArray[np.intp]) -> pd.DataFrame:
    """Candidates of all spaces as one table, which is made one column after the other.

    Args:
        rows: of all candidates, those of the first space first.
    """
    (_, first), *others = drawn
    names = dict.fromkeys([*first, PIPELINE, *(name for _, frame in others for name in frame)])
    pipelines = pd.Series([space.pipeline for space, _ in drawn])
    columns: dict[str, Any] = {}
    for name in map(str, names):
        if name == PIPELINE:
            columns[name] = pipelines.take(_numbers(drawn)[rows]).array
        else:
            columns[name] = _column(drawn, name)[rows]
    return pd.DataFrame(columns, copy=False)  # a copy has them all twice


def _column(drawn: Drawn, name: str) -> NDArray[Any]:
    """The values of a knob; NaN where a space lacks it, in four bytes where that is exact."""
    return np.concatenate(
        [
            frame[name].to_numpy() if name in frame else np.full(len(frame), np.nan, np.float32)
            for _, frame in drawn
        ]
    )


def _numbers(drawn: Drawn) -> NDArray[np.int16]:
    """For each candidate, the number of its space."""
    numbers = np.arange(len(drawn), dtype=np.int16)
    return np.repeat(numbers, [len(candidates) for _, candidates in drawn])


def _with_default(space: Space, candidates: pd.DataFrame) -> pd.DataFrame:
    """The candidates, of which the last gives way to the compiler's default if they lack it."""
    if space.default is None or not len(candidates):
        return candidates
    default = pd.DataFrame([space.default])[list(candidates)].astype(candidates.dtypes)
    if (candidates == default.iloc[0]).all(axis=1).any():
        return candidates
    return pd.concat([candidates.iloc[:-1], default], ignore_index=True)


def check_not_empty(candidates: Sized, dispatch: Dispatch) -> None:
    """Refuses a dispatch that has no candidate."""
    if not len(candidates):
        raise NotTunableError(
            f"the space of {dispatch.problem.label} is empty",
            dispatch.no_constraints_reason or "nothing can be tuned here",
        )


def check_queue(queue: pd.DataFrame, dispatch: Dispatch) -> None:
    """Checks that candidates are of the dispatch's spaces: all knobs, whole, and in range.

    Raises:
        ValueError: naming the first column or value that is wrong.
        InputError: a pipeline or a knob that is set free is none.
    """
    if queue.empty or PIPELINE not in queue:
        raise ValueError(f"the queue has {len(queue)} candidates and no column {PIPELINE!r}")
    spaces = spaces_of(dispatch, queue)
    known = {PIPELINE, *(k.name for space in spaces.values() for k in space.knobs)}
    if unknown := [str(name) for name in queue if name not in known]:
        raise ValueError(f"the queue has a column {unknown[0]}, which is no knob")
    for name, rows in queue.groupby(PIPELINE, dropna=False):
        pipeline = str(name)
        if pipeline not in spaces:
            raise ValueError(f"the queue has candidates of a pipeline {pipeline}")
        for knob in spaces[pipeline].knobs:
            if knob.name not in rows:
                raise ValueError(f"the queue has no column {knob.name}, a knob of {pipeline}")
            values = pd.to_numeric(rows[knob.name], errors="coerce").to_numpy(np.float64)
            right = (values >= knob.values[0]) & (values <= knob.values[-1])
            wrong = np.flatnonzero(~(right & (values == np.floor(values))))
            if len(wrong):
                found = rows[knob.name].iloc[wrong[0]]
                raise ValueError(f"{knob.name} of candidate {rows.index[wrong[0]]} is {found}")


def renderer(dispatch: Dispatch, queue: pd.DataFrame) -> Callable[[int], str]:
    """A function that renders the configuration of a queue position."""
    spaces = spaces_of(dispatch, queue)

    def render(index: int) -> str:
        one = Configuration.of_candidate(queue, index)
        return spaces[one.pipeline].render(one.knobs)

    return render


def explained(render: Callable[[int], str]) -> Callable[[int], str]:
    """As `render`, for people and reproducers: a configuration, or why there is none."""

    def render_or_explain(index: int) -> str:
        try:
            return render(index)
        except CannotRender as failure:
            return f"// {failure}"

    return render_or_explain


def with_derived(dispatch: Dispatch, queue: pd.DataFrame) -> pd.DataFrame:
    """The queue with all that features need, for when the dispatch is not at hand.

    Returns:
        The queue; with what knobs mean, where spaces say so, in columns called `derived.*`.
    """
    if not any(space.derived for space in spaces_of(dispatch, queue).values()):
        return queue
    parts = [
        found[[name for name, _ in space.derived]] for space, found in _derived(dispatch, queue)
    ]
    return queue.join(pd.concat(parts).add_prefix(DERIVED))


def features_of(dispatch: Dispatch, queue: pd.DataFrame) -> pd.DataFrame:
    """The features of a queue's candidates, with its index."""
    parts = [extract(s.problem, s.target, found) for s, found in _derived(dispatch, queue)]
    return pd.concat(parts).loc[queue.index]


def _derived(dispatch: Dispatch, queue: pd.DataFrame) -> Iterator[tuple[Space, pd.DataFrame]]:
    """By space: its candidates' knobs, and what they mean."""
    spaces = spaces_of(dispatch, queue)
    for pipeline, rows in queue.groupby(PIPELINE):
        space = spaces[str(pipeline)]
        yield space, add_derived_columns(space, rows[[k.name for k in space.knobs]])


def spaces_of(dispatch: Dispatch, queue: pd.DataFrame) -> dict[str, Space]:
    """By pipeline: the spaces that candidates were taken from."""
    known = backend_named(dispatch.target.backend).extras
    extras = {name: values for name, values in known.items() if name in queue}
    # Those that make executables are candidates only where they are asked for, and then alone.
    (first, *others) = map(str, queue[PIPELINE].unique())
    only = None if others or executable_pipeline(first) is None else first
    return {s.pipeline: s for s in build_spaces(dispatch, only, extras)}
