"""Why a ranker puts candidates where it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ...core import InputError
from ...models import BASE, Ranker, order
from .pool import CandidatePool


@dataclass(frozen=True)
class CandidateSelection:
    """Which candidates to explain; the first in the order where nothing is given.

    Attributes:
        position: the one at this position of the order, from 1.
        top: the first so many.
        row: the one in this row of a recording: what its column `index` holds.
        knobs: the first of those with these values.
    """

    position: int = 1
    top: int | None = None
    row: int | None = None
    knobs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Contribution:
    """What one feature or term adds to a score.

    Attributes:
        text: what it is, and why it matters.
        values: of the features that it looks at.
    """

    name: str
    adds: float
    text: str
    values: dict[str, float]


@dataclass(frozen=True)
class Score:
    """A score as a sum; the candidate with the lowest one runs first.

    Attributes:
        base: what scores start from.
        shares: what leads from there to the score, the largest first.
    """

    ranker: str
    score: float
    base: float
    shares: tuple[Contribution, ...]


@dataclass(frozen=True)
class Explanation:
    """A candidate, where it is in the order, and why.

    Attributes:
        position: from 1, in the order of `candidates` candidates.
        row: what the recording's column `index` holds; None for one of a dispatch.
        time_us: as recorded; None where it failed, or was not measured.
        place: by recorded time, from 1; None where there is none.
    """

    position: int
    candidates: int
    pipeline: str
    knobs: dict[str, Any]
    score: Score
    row: int | None
    time_us: float | None
    place: int | None

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)


def explain(
    ranker: Ranker, pool: CandidatePool, choice: CandidateSelection, seed: int = 0
) -> list[Explanation]:
    """Why candidates of a pool are where they are.

    Args:
        seed: for drawing candidates with the chosen knobs.

    Raises:
        InputError: there is no such candidate, the ranker cannot order the pool's, or has nothing
            to explain.
    """
    if choice.knobs and not pool.is_recorded:
        pool = pool.with_best(choice.knobs, ranker, seed)
    ranked = order(ranker, pool.features)
    rows = _rows(pool, ranked.tolist(), choice)
    scores = scores_of(ranker, pool.features, rows)
    positions = np.argsort(ranked) + 1
    places = pd.Series(pool.times).rank(method="min")
    return [
        Explanation(
            position=int(positions[row]),
            candidates=len(ranked),
            pipeline=pool.pipeline(row),
            knobs=pool.knobs(row),
            score=score,
            row=pool.indices[row] if pool.is_recorded else None,
            time_us=None if np.isnan(pool.times[row]) else float(pool.times[row]),
            place=None if np.isnan(places[row]) else int(places[row]),
        )
        for row, score in zip(rows, scores, strict=True)
    ]


def _rows(pool: CandidatePool, ranked: Sequence[int], choice: CandidateSelection) -> list[int]:
    if choice.knobs:
        able = set(pool.rows_with(choice.knobs))
        return [next(row for row in ranked if row in able)]
    if choice.row is not None:
        if choice.row not in pool.indices:
            raise InputError(
                f"there is no row {choice.row}, or it was killed from outside",
                f"the recording's last one is {max(pool.indices, default=-1)}",
            )
        return [pool.indices.index(choice.row)]
    if choice.top is not None:
        return list(ranked[: choice.top])
    if choice.position > len(ranked):
        raise InputError(
            f"there is no candidate {choice.position}",
            f"the last one in the order is {len(ranked)}",
        )
    return [ranked[choice.position - 1]]


def scores_of(ranker: Ranker, features: pd.DataFrame, rows: Sequence[int]) -> list[Score]:
    """The scores of some candidates among others, as sums.

    Args:
        features: a row for each candidate.
        rows: those to explain.

    Raises:
        InputError: the ranker cannot order the candidates, or has nothing to explain.
    """
    found = ranker.contributions(features, rows)
    reasons = ranker.reasons(features)
    scores = []
    for i, row in enumerate(rows):
        values, adds = features.iloc[row], found.iloc[i].drop(BASE)
        largest = adds.abs().sort_values(ascending=False, kind="stable").index
        shares = [
            Contribution(
                name=name,
                adds=float(adds[name]),
                text=reasons[name].text,
                # A word that no candidate has is in no column: see `models.ranker.features`.
                values={f: float(values.get(f, 0.0)) for f in reasons[name].features},
            )
            for name in map(str, largest)
        ]
        scores.append(
            Score(
                ranker=ranker.name,
                score=float(found.iloc[i].sum()),
                base=float(found[BASE].iloc[i]),
                shares=tuple(shares),
            )
        )
    return scores
