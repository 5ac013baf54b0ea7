"""All candidates of a Space, or a uniform sample of one that is too large to hold.

Z3 states the constraints; solving them one model at a time yields tens of candidates per second
and walks one subtree after another. So the same Z3 expressions are evaluated over numpy columns
instead (`terms`): bounds are propagated into finite domains (`domains`), and tables of knob values
are joined (`join`). What is too large to join stays apart, and is sampled by drawing rows of each
table independently and rejecting the combinations that a remaining constraint forbids, which is
uniform over the candidates by construction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...core import InputError
from ..space import Constraint, Space
from .join import MAX_ROWS, Joined, join
from .terms import Column, evaluate, holds, lower

_CHUNK = 1_000_000  # combinations drawn at once


@dataclass(frozen=True)
class Count:
    """How many candidates a space has; an estimate where `exact` is False."""

    value: int
    exact: bool


def count(space: Space) -> Count:
    """Counts the candidates: exactly if the joined table can be held, else from a sample."""
    joined = _solve(space)
    if not joined.open or not joined.rows:
        return Count(joined.rows, exact=True)
    draws = 200_000
    kept = int(joined.accepts(*joined.draw(draws, np.random.default_rng(0))).sum())
    return Count(round(joined.rows * kept / draws), exact=False)


def sample(space: Space, n: int, seed: int) -> pd.DataFrame:
    """`n` different candidates, uniformly drawn, in random order; all if there are fewer.

    The same seed gives the same candidates on any machine. Knobs take as few bytes as their values
    need, so that a million candidates take some 20 MB: widen them before multiplying.
    """
    joined = _solve(space)
    n = max(n, 0)
    rng = np.random.default_rng(seed)
    names = [k.name for k in space.knobs]
    if joined.complete:
        return pd.DataFrame(joined.pick(rng.permutation(joined.rows)[:n]))[names]
    # Tables have no row twice, so candidates differ where their numbers do.
    found = pd.DataFrame(index=range(0), columns=range(len(joined.groups)), dtype=np.int64)
    tried = 0
    while len(found) < n:
        numbers = joined.draw(min(max(4 * n, 10_000), _CHUNK), rng)
        tried += len(numbers[0])
        keep = joined.accepts(*numbers)
        drawn = pd.DataFrame(dict(enumerate(one[keep] for one in numbers)))
        before = len(found)
        found = pd.concat([found, drawn], ignore_index=True).drop_duplicates(ignore_index=True)
        if len(found) == before and tried > min(20 * joined.rows, 50_000_000):
            break  # fewer than n exist, or too few to be met by chance
    columns = joined.pick(*(found[group].to_numpy()[:n] for group in found))
    return pd.DataFrame({name: columns[name] for name in names})


def enumerate_space(space: Space) -> pd.DataFrame:
    """Every candidate, in ascending order of the knobs' values.

    Raises:
        InputError: there are more than can be held; draw a sample instead.
    """
    joined = _solve(space)
    if not joined.complete:
        raise InputError(
            f"the space of {space.pipeline} is too large to list (more than {MAX_ROWS} candidates)",
            "give --limit to draw a uniform sample",
        )
    names = [k.name for k in space.knobs]
    frame = pd.DataFrame(joined.pick(np.arange(joined.rows)))[names]
    return frame.sort_values(names, ignore_index=True)


def add_derived_columns(space: Space, candidates: pd.DataFrame) -> pd.DataFrame:
    """The candidates with the space's derived columns added: what features look at."""
    wide = candidates.astype(np.int64)
    columns = {str(k): wide[k].to_numpy() for k in wide}
    terms = lower(expr for _, expr in space.derived)
    found = {
        name: np.broadcast_to(evaluate(term, columns), len(candidates))
        for (name, _), term in zip(space.derived, terms, strict=True)
    }
    return wide.assign(**found)


def satisfies(
    constraints: Sequence[Constraint], columns: Mapping[str, Column]
) -> npt.NDArray[np.bool_]:
    """For each row, whether all constraints hold."""
    rows = len(next(iter(columns.values())))
    return holds(lower(c.formula for c in constraints), columns, (rows,))


def candidate_dicts(candidates: pd.DataFrame) -> list[dict[str, int]]:
    """The candidates, each as a mapping from knob to value."""
    names = [str(c) for c in candidates.columns]
    return [dict(zip(names, row, strict=True)) for row in candidates.to_numpy().tolist()]


# A space is counted, then sampled, then listed: once is enough.
_solved: WeakKeyDictionary[Space, Joined] = WeakKeyDictionary()


def _solve(space: Space) -> Joined:
    if space not in _solved:
        domains = {k.name: np.array(k.values, dtype=_kind_of(k.values)) for k in space.knobs}
        _solved[space] = join(domains, lower(c.formula for c in space.constraints))
    return _solved[space]


def _kind_of(values: Sequence[int]) -> npt.DTypeLike:
    """The narrowest type of number from 16 bits for a knob's values, which ascend."""
    return np.result_type(np.int16, *map(np.min_scalar_type, (*values[:1], *values[-1:])))
