"""Vega-Lite: the parts that charts of several pages are put together from.

Values have fields of fixed names; what comes from files is only ever in values, never in a name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .blocks import Spec

Values = Sequence[Mapping[str, Any]]
HEIGHT = 280
ROW_HEIGHT = 26


def layered(*layers: Spec, height: int = HEIGHT, **more: Any) -> Spec:
    """A chart as wide as the page, of marks one above the other."""
    return {"width": "container", "height": height, "autosize": _FIT, "layer": list(layers), **more}


_FIT = {"type": "fit", "contains": "padding", "resize": True}


def layer(values: Values, mark: str | Spec, **encoding: Any) -> Spec:
    """Marks for values; numbers that JSON does not have are left out."""
    return {
        "data": {"values": [_finite(value) for value in values]},
        "mark": {"type": mark} if isinstance(mark, str) else mark,
        "encoding": {name: one for name, one in encoding.items() if one is not None},
    }


def amount(field: str, title: str = "", *, log: bool = False, **more: Any) -> Spec:
    """A number on an axis, which need not start at zero.

    Layers that share an axis have to give it the same title.
    """
    scale = {"type": "log", "nice": False, "padding": 12} if log else {"zero": False}
    scale |= more.pop("scale", {})
    return {"field": field, "type": "quantitative", "title": title or None, "scale": scale, **more}


def whole(field: str, title: str = "", **more: Any) -> Spec:
    """A number of things on an axis: 1, 2, 3, not 1.0, 1.5, 2.0."""
    return amount(field, title, axis={"format": ",d", "tickMinStep": 1}, **more)


def named(field: str, title: str = "", **more: Any) -> Spec:
    """Words on an axis, in the order in which they come."""
    return {"field": field, "type": "nominal", "title": title or None, "sort": None, **more}


def coloured(field: str, title: str = "", colours: Mapping[str, str] | None = None) -> Spec:
    """Words as colours; some may have colours of their own."""
    scale = {} if colours is None else {"domain": [*colours], "range": [*colours.values()]}
    return {"field": field, "type": "nominal", "title": title or None, "sort": None, "scale": scale}


def told(**fields: str) -> list[Spec]:
    """What a tooltip tells: fields with their titles."""
    return [{"field": field, "title": title} for field, title in fields.items()]


def line_at(value: float, colour: str, *, axis: str = "x", dashed: bool = True) -> Spec:
    """A line across the chart."""
    mark = {"type": "rule", "color": colour, "strokeDash": [5, 4] if dashed else [1, 0]}
    return {"data": {"values": [{}]}, "mark": mark, "encoding": {axis: {"datum": value}}}


def rows_height(count: int) -> int:
    """The height of a chart with a row for each of so many."""
    return max(90, 50 + ROW_HEIGHT * count)


def thinned(places: Sequence[int], most: int) -> list[int]:
    """At most so many of them, evenly."""
    step = max(1, math.ceil(len(places) / most))
    return list(places[::step])


def _finite(value: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(one, float) and not math.isfinite(one) else one
        for name, one in value.items()
    }
