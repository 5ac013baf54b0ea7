"""How candidates came into a recording: words, of which a row may have several."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

ORIGIN = "origin"
UNIFORM, DEFAULT, TOP, ADAPTIVE = "uniform", "default", "top", "adaptive"
# As a row has them; only `top` is followed by a ranker's name.
_IN_ORDER = (UNIFORM, DEFAULT, TOP, ADAPTIVE)
_KNOWN = f"{UNIFORM}, {DEFAULT}, {TOP}:RANKER, {ADAPTIVE}"


def top_of(ranker: str) -> str:
    """The origin of what is among the first of a ranker's order."""
    return f"{TOP}:{ranker}"


def join_origins(words: Iterable[str]) -> str:
    """All origins of a candidate as a row has them: each once, in order, rankers by name.

    Raises:
        ValueError: there is no such origin.
    """
    return ",".join(sorted(set(words), key=lambda word: (_place(word), word)))


def split_origins(origins: pd.Series) -> pd.Series:
    """A row for each origin of each candidate, with the candidate's label."""
    return origins.str.split(",").explode()


def rows_with(origin: str, origins: pd.Series) -> pd.Index:
    """Labels of the candidates that have an origin, among others maybe."""
    found = split_origins(origins)
    return found.index[found == origin]


def check_origins(origins: pd.Series) -> None:
    """Checks that every row has origins, as `join_origins` writes them.

    Raises:
        ValueError: naming the first that are something else.
    """
    for found in origins.unique():
        if not isinstance(found, str) or join_origins(found.split(",")) != found:
            raise ValueError(f"an {ORIGIN} is {found!r}, not words of {_KNOWN} in this order")


def _place(word: str) -> int:
    kind, _, ranker = word.partition(":")
    if kind not in _IN_ORDER or (kind == TOP) != bool(ranker):
        raise ValueError(f"there is no {ORIGIN} {word!r}, only {_KNOWN}")
    return _IN_ORDER.index(kind)
