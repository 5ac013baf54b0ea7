"""Features of knobs that put things in order, such as loops: where each is, and next to what."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..search import parse_permutation
from .view import Column


def common_elements(values: Iterable[str]) -> tuple[str, ...] | None:
    """What all values put in order; None if one is no order, or one of other things.

    Args:
        values: of a knob; an empty one is missing.
    """
    found: frozenset[str] = frozenset()
    for value in filter(None, values):
        elements = frozenset(parse_permutation(value) or ())
        if not elements or (found and elements != found):
            return None
        found = elements
    return sort_elements(found) if found else None


def sort_elements(elements: Iterable[str]) -> tuple[str, ...]:
    """Elements in an order that does not depend on how they came: numbers by value, then words."""
    return tuple(sorted(set(elements), key=lambda e: (not e.isdecimal(), len(e), e)))


def places_of(column: pd.Series, elements: tuple[str, ...]) -> NDArray[np.int64]:
    """A row per candidate, a column per element: its place, from 1; 0 where there is no order."""
    codes, words = pd.factorize(column)
    table = np.zeros((len(words), len(elements)), dtype=np.int64)
    for row, word in zip(table, words, strict=True):
        found = parse_permutation(word)
        if found is not None and set(found) == set(elements):
            row[:] = [found.index(element) + 1 for element in elements]
    return table[codes]


def place(places: NDArray[np.int64], at: int) -> Column:
    return places[:, at].astype(np.float64)


def beside(places: NDArray[np.int64], at: int, other: int) -> Column:
    return np.asarray(np.abs(places[:, at] - places[:, other]) == 1, dtype=np.float64)


def before(places: NDArray[np.int64], at: int, other: int) -> Column:
    return np.asarray(places[:, at] < places[:, other], dtype=np.float64)
