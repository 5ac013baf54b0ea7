"""Features of kernels of which only knobs and times are known, such as recordings of other tuners.

| feature | is |
| --- | --- |
| `knob.a` | the value of a number; a flag is 0 or 1 |
| `log2.a` | its magnitude, as log2(1 + a), mirrored for negative values |
| `pow2.a` | whether it is a power of two |
| `product.a.b` | the product of two numbers: threads of a block, points of a tile |
| `ratio.a.b` | the first over the second, 0 where that is 0 |
| `is.a.v` | whether a word has the value v |
| `number.a` | the number that a word is, where all are numbers |
| `place.a.e` | where e is in an order of things, such as `[0, 2, 1]`, from 1 |
| `beside.a.e.f` | whether e and f are next to each other there |
| `before.a.e.f` | whether e comes before f there |

Knobs come in the order of their names. In a feature's name they are quoted as in a URL, dots too:
so they can be read from it, and LightGBM takes it, which refuses JSON's special characters.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import combinations
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..core import InputError, TooLarge, check_table_size, remedy_for
from ..search import MAX_ELEMENTS
from .orders import before, beside, common_elements, place, places_of, sort_elements
from .registry import Catalogue, Feature, Function
from .view import CandidateView, Column, is_pow2

GENERIC = "generic"
VERSION = 1

# Pairs of more knobs are too many features: 100 have 10,200.
MAX_KNOBS = 100
# All values of words together: each is a feature, whose name has the word.
MAX_WORDS, MAX_WORD = 10_000, 1_000
# What a feature takes of a candidate while all are computed.
CELL_BYTES = 8
Elements = tuple[str, ...]
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False)
class KnobView(CandidateView):
    """Candidates of somebody else's kernel.

    Attributes:
        candidates: one row per candidate, one column per knob; what is missing is 0.
    """

    candidates: pd.DataFrame

    @cached_property
    def numbers(self) -> dict[str, Column]:
        """By knob: its values."""
        found = self.candidates.loc[:, [not is_word(c) for _, c in self.candidates.items()]]
        return {str(name): _finite(found[name]) for name in found}

    def number(self, knob: str) -> Column:
        if knob not in self.numbers:
            raise InputError(
                f"the candidates lack the knob {knob!r}, or its values are no numbers",
                f"they have {', '.join(map(str, self.candidates.columns))}",
            )
        return self.numbers[knob]

    def word(self, knob: str) -> pd.Series:
        if knob not in self.candidates:
            raise InputError(f"the candidates lack the knob {knob!r}")
        if knob not in self._words_by_knob:  # a knob may have a thousand words, a feature each
            self._words_by_knob[knob] = _words(self.candidates[knob])
        return self._words_by_knob[knob]

    def places(self, knob: str, elements: Elements) -> NDArray[np.int64]:
        """The places of these elements in the knob's orders."""
        if (knob, elements) not in self._places:
            self._places[knob, elements] = places_of(self.word(knob), elements)
        return self._places[knob, elements]

    @cached_property
    def _words_by_knob(self) -> dict[str, pd.Series]:
        return {}

    @cached_property
    def _places(self) -> dict[tuple[str, Elements], NDArray[np.int64]]:
        return {}


def is_word(column: pd.Series) -> bool:
    """Whether a knob's values are words rather than numbers or flags."""
    return not pd.api.types.is_numeric_dtype(column) and any(isinstance(v, str) for v in column)


def generic_catalogue(
    numbers: Iterable[str],
    words: Mapping[str, Iterable[str]] | None = None,
    orders: Mapping[str, Iterable[str]] | None = None,
) -> Catalogue:
    """The features of a kernel.

    Args:
        numbers: its knobs that are numbers or flags.
        words: its other knobs, with their values.
        orders: those that put things in order, with the things.

    Raises:
        InputError: there are too many knobs.
    """
    values = {name: tuple(sorted(set(v))) for name, v in (words or {}).items()}
    elements = {name: sort_elements(e) for name, e in (orders or {}).items()}
    return _catalogue(
        tuple(sorted(set(numbers))),
        tuple(sorted(values.items())),
        tuple(sorted(elements.items())),
    )


def generic_catalogue_of_frames(frames: Sequence[pd.DataFrame]) -> Catalogue:
    """The features of a kernel whose candidates are in these frames, all with the same columns."""
    words: dict[str, set[str]] = {}
    for frame in frames:
        for name, column in frame.items():
            if is_word(column):
                words.setdefault(str(name), set())
    for frame in frames:
        for name, values in words.items():
            values |= set(_words(frame[name]))
    numbers = {str(name) for frame in frames for name in frame} - set(words)
    found = {name: common_elements(values) for name, values in words.items()}
    orders = {name: elements for name, elements in found.items() if elements}
    words = {name: values for name, values in words.items() if name not in orders}
    return generic_catalogue(numbers, words, orders)


def parse_generic_catalogue(names: Iterable[str]) -> Catalogue | None:
    """The catalogue that has features of these names; None if none of them is of a knob.

    Raises:
        InputError: there are too many knobs.
    """
    numbers: list[str] = []
    words: dict[str, list[str]] = {}
    orders: dict[str, list[str]] = {}
    for name in names:
        kind, *rest = name.split(".")
        match kind, [unquote(part) for part in rest]:
            case "knob", [knob]:
                numbers.append(knob)
            case "is", [knob, value]:
                words.setdefault(knob, []).append(value)
            case "place", [knob, element]:
                orders.setdefault(knob, []).append(element)
    return generic_catalogue(numbers, words, orders) if numbers or words or orders else None


def extract_knobs(catalogue: Catalogue, candidates: pd.DataFrame) -> pd.DataFrame:
    """Computes all features of candidates of somebody else's kernel.

    Args:
        catalogue: as `generic_catalogue` makes it.
        candidates: one row per candidate, one column per knob.

    Returns:
        A float32 frame with the catalogue's names as columns, and the candidates' index. All values
        are finite.

    Raises:
        InputError: a knob is missing, or there are too many candidates for so many features.
    """
    try:
        check_table_size(len(candidates), len(catalogue.features), CELL_BYTES)
    except TooLarge as error:
        raise InputError(
            f"the table of features is too large: {error}", remedy_for(error, "")
        ) from None
    return catalogue.compute(catalogue.view(candidates))


@lru_cache(maxsize=32)
def _catalogue(
    numbers: tuple[str, ...],
    words: tuple[tuple[str, tuple[str, ...]], ...],
    orders: tuple[tuple[str, tuple[str, ...]], ...],
) -> Catalogue:
    if (knobs := len(numbers) + len(orders)) > MAX_KNOBS:
        raise InputError(
            f"a kernel with {knobs} knobs has too many features, {MAX_KNOBS} are the most",
            "leave knobs out that matter little",
        )
    if (most := max((len(elements) for _, elements in orders), default=0)) > MAX_ELEMENTS:
        raise InputError(
            f"an order of {most} things has too many features, {MAX_ELEMENTS} are the most"
        )
    count = sum(len(values) for _, values in (*words, *orders))
    longest = max((len(value) for _, values in (*words, *orders) for value in values), default=0)
    if count > MAX_WORDS or longest > MAX_WORD:
        raise InputError(
            f"a kernel whose knobs have {count:,} different words, the longest of {longest:,} "
            f"characters, has too many features: {MAX_WORDS:,} words are the most, of "
            f"{MAX_WORD:,} characters",
            "leave such knobs out",
        )
    pairs = tuple(combinations(numbers, 2))
    features = [
        *(_feature("knob", "the value of {}", _value, a) for a in numbers),
        *(_feature("log2", "the magnitude of {}", _log2, a) for a in numbers),
        *(_feature("pow2", "whether {} is a power of two", _pow2, a) for a in numbers),
        *(_feature("product", "{} times {}", _product, *pair) for pair in pairs),
        *(_feature("ratio", "{} over {}", _ratio, *pair) for pair in pairs),
        *(_feature("is", "whether {} is {}", _is, a, v) for a, values in words for v in values),
        *(
            _feature("number", "the number that {} is", _number, a)
            for a, values in words
            if all(map(_is_number, values))
        ),
        *(feature for knob, elements in orders for feature in _order_features(knob, elements)),
    ]
    return Catalogue(GENERIC, VERSION, KnobView, tuple(features), "other people's kernels")


def _order_features(knob: str, elements: Elements) -> Iterator[Feature]:
    for at, e in enumerate(elements):
        bound = partial(_of_order, place, elements, (at,))
        yield _feature("place", "where {1} is in {0}", bound, knob, e)
    for doc, function in (("next to", beside), ("before", before)):
        for (at, e), (other, f) in combinations(enumerate(elements), 2):
            bound = partial(_of_order, function, elements, (at, other))
            told = f"whether {{1}} is {doc} {{2}} in {{0}}"
            yield _feature(function.__name__, told, bound, knob, e, f)


def _of_order(
    function: Any, elements: Elements, at: tuple[int, ...], view: KnobView, knob: str, *_: str
) -> Column:
    values: Column = function(view.places(knob, elements), *at)
    return values


def _feature(kind: str, doc: str, function: Any, *parts: str) -> Feature:
    try:
        name = ".".join([kind, *(quote(p, safe="").replace(".", "%2E") for p in parts)])
    except UnicodeEncodeError:  # half of a pair of surrogates, as JSON can have
        raise InputError(f"a knob, or a word of one, is no text: {parts!a:.80}") from None
    bound: Function = partial(_call, function, parts)
    return Feature(name, doc.format(*parts), GENERIC, bound)


def _call(function: Any, parts: tuple[str, ...], view: KnobView) -> Column:
    values: Column = function(view, *parts)
    return values


def _value(view: KnobView, a: str) -> Column:
    return view.number(a)


def _log2(view: KnobView, a: str) -> Column:
    values = view.number(a)
    return np.asarray(np.sign(values) * np.log2(1 + np.abs(values)))


def _pow2(view: KnobView, a: str) -> Column:
    return is_pow2(view.number(a))


def _product(view: KnobView, a: str, b: str) -> Column:
    return np.clip(view.number(a) * view.number(b), -_LARGEST, _LARGEST)


def _ratio(view: KnobView, a: str, b: str) -> Column:
    over, under = view.number(a), view.number(b)
    with np.errstate(over="ignore"):
        found = np.divide(over, under, out=np.zeros_like(over), where=under != 0)
    return np.clip(found, -_LARGEST, _LARGEST)


def _is(view: KnobView, a: str, value: str) -> Column:
    return np.asarray(view.word(a) == value, dtype=np.float64)


def _number(view: KnobView, a: str) -> Column:
    return _finite(pd.to_numeric(view.word(a), errors="coerce"))


def _is_number(word: str) -> bool:
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False


def _words(column: pd.Series) -> pd.Series:
    return column.fillna("").astype(str)


def _finite(column: pd.Series) -> Column:
    values = column.astype(np.float64).to_numpy()
    return np.clip(np.nan_to_num(values), -_LARGEST, _LARGEST)
