"""How a feature is declared: a documented function in a theme, under a name used only once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from .view import Column

# Computes a feature from its catalogue's view, or one of its parts: a column, or one number where
# it is the same for all candidates.
Function = Callable[[Any], "Column | float"]
F = TypeVar("F", bound=Function)


@dataclass(frozen=True)
class Feature:
    """One column of the feature frame.

    Attributes:
        name: the column's name.
        doc: one line: what it is, and why it matters.
        group: the theme that it belongs to.
        function: computes it for all candidates at once.
    """

    name: str
    doc: str
    group: str
    function: Function


@dataclass(frozen=True)
class Catalogue:
    """The features of one kind of candidates.

    Attributes:
        name: of the kind.
        version: raised where a feature is dropped or means something else.
        view: a `CandidateView` that computes what features share, such as tiles and footprints.
        features: in the order of the columns.
        subject: what the candidates are for, in words.
        register_tile: features by which candidates with the same register tile are told: what is
            wrong about one of these is wrong about all, so orders keep them apart. May be empty.
    """

    name: str
    version: int
    view: Callable[..., Any]
    features: tuple[Feature, ...]
    subject: str
    register_tile: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.features)

    def compute(self, view: Any) -> pd.DataFrame:
        """All features of the candidates that a view shows, as float32."""
        index = view.candidates.index
        values = np.empty((len(self.features), len(index)), dtype=np.float32)
        # float32 also hides that log2 differs in the last bit between machines: ties stay ties.
        for rows, part in view.parts():
            for row, item in zip(values, self.features, strict=True):
                row[rows] = item.function(part)
        return pd.DataFrame(values.T, columns=pd.Index(self.names), index=index, copy=False)


class Theme:
    """The features of one module, in the order of their declaration."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.features: list[Feature] = []

    def feature(self, function: F) -> F:
        """Declares a feature named after the function (a decorator)."""
        self._add(function.__name__, function.__doc__, function)
        return function

    def each(
        self, pattern: str, values: Iterable[str]
    ) -> Callable[[Callable[[Any, str], Column]], Callable[[Any, str], Column]]:
        """Declares one feature per value (a decorator).

        Args:
            pattern: the features' names, with `{}` for the value; so in the docstring.
            values: the roles or operands that the function is called with.
        """

        def declare(function: Callable[[Any, str], Column]) -> Callable[[Any, str], Column]:
            for value in values:
                doc = (function.__doc__ or "").replace("{}", value)
                self._add(pattern.format(value), doc, partial(_call, function, value))
            return function

        return declare

    def _add(self, name: str, doc: str | None, function: Function) -> None:
        if not doc or not doc.strip():
            raise ValueError(
                f"feature {name!r} has no docstring; say what it is and why it matters"
            )
        self.features.append(Feature(name, doc.strip(), self.name, function))


def _call(function: Callable[[Any, str], Column], value: str, view: Any) -> Column:
    return function(view, value)


def collect(themes: Iterable[Theme]) -> tuple[Feature, ...]:
    """All features of the themes, in order.

    Raises:
        ValueError: two features have the same name.
    """
    found: dict[str, Feature] = {}
    for theme in themes:
        for item in theme.features:
            if item.name in found:
                raise ValueError(
                    f"feature {item.name!r} is declared twice: in {found[item.name].group!r} "
                    f"and in {item.group!r}"
                )
            found[item.name] = item
    return tuple(found.values())
