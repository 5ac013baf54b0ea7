"""Knobs: how default, winner and runner-up differ, and what each knob does to the time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from ...search import PIPELINE, Knob
from ..queue import Configuration, spaces_of
from .drawing import (
    Block,
    Cell,
    Chart,
    Charts,
    Table,
    Text,
    amount,
    coloured,
    layer,
    layered,
    named,
    thinned,
    told,
)
from .runs import COLOURS, Run

# Of each knob's chart.
MOST_POINTS = 400
OUTSIDE = "outside"


def differences(run: Run) -> Iterator[Block]:
    """Default, winner and runner-up beside each other."""
    columns: dict[str, Configuration | None] = {"default": run.default}
    if run.winner is not None:
        columns["winner"] = run.configuration(run.winner.index + 1)
    if run.others:
        columns["runner-up" if run.winner else "best"] = run.configuration(run.others[0].index + 1)
    if run.default is None:
        yield Text(
            "The compiler's default is of no space that candidates are taken from, or what it is "
            "is not known here, so that its knobs cannot be told."
        )
    shown = {name: one for name, one in columns.items() if one is not None}
    if not shown:
        return
    domains = _domains(run)
    pipelines = {one.pipeline for one in shown.values()}
    if len(pipelines) > 1:
        told_apart = ", ".join(f"{name}: {one.pipeline}" for name, one in shown.items())
        yield Text(f"They are of different pipelines: {told_apart}.")
    names = list(dict.fromkeys(name for one in shown.values() for name in one.knobs))
    rows, outside, changed = [], [], []
    for place, name in enumerate(names):
        values = {who: one.knobs.get(name) for who, one in shown.items()}
        offered = {who: domains.get((one.pipeline, name)) for who, one in shown.items()}
        cells = [Cell("" if v is None else _marked(v, offered[who])) for who, v in values.items()]
        outside += [f"{name} of the {who}" for who, cell in zip(values, cells, strict=True)
                    if OUTSIDE in cell.text]  # fmt: skip
        if len(set(values.values())) > 1:
            changed.append(place)
        ranges = dict.fromkeys(_range(knob) for knob in offered.values() if knob is not None)
        rows.append((Cell(name), *cells, Cell(" or ".join(ranges))))
    yield Table.of(
        "Knobs of each; rows that stand out differ", ["knob", *shown, "the space offers"], rows,
        chosen=changed,
    )  # fmt: skip
    if outside:
        yield Text(f"Outside of what the space offers: {', '.join(outside)}.")
    elif domains:
        yield Text("All of these are values that the space offers.")


def effects(run: Run) -> Iterator[Block]:
    """The time of candidates by each knob."""
    ran = run.taken.dropna(subset="relative")
    if len(ran) < 2:
        yield Text("Too few candidates ran to tell what a knob does.")
        return
    queue = run.setup.queue.iloc[ran["place"] - 1].reset_index(drop=True)
    charts = knob_charts(
        queue,
        [run.time_us(relative) for relative in ran["relative"]],
        list(ran["shown"]),
        run.default.knobs if run.default else {},
    )
    yield Text(
        "Each dot is a candidate, the lower the faster (µs, logarithmic); the line joins the "
        "fastest of each value. Candidates are those that were expected to be good, so that a knob "
        "that hardly varies says little."
    )
    yield Charts(charts)


def knob_charts(
    knobs: pd.DataFrame, times_us: Sequence[float], shown: Sequence[str], default: Mapping[str, int]
) -> tuple[Chart, ...]:
    """A small chart for each knob that varies.

    Args:
        knobs: a row for each candidate that ran.
        shown: what each candidate is called.
        default: the values that the compiler chooses.
    """
    frame = knobs.copy()
    frame[_TIME], frame[_SHOWN] = list(times_us), list(shown)
    names = [str(n) for n in knobs if n != PIPELINE and knobs[n].nunique() > 1]
    return tuple(_knob_chart(name, frame, default.get(name)) for name in names)


_TIME, _SHOWN = "time of a candidate, µs", "what a candidate is called"


def _knob_chart(name: str, frame: pd.DataFrame, default: int | None) -> Chart:
    kept = frame[[name, _TIME, _SHOWN]].dropna().sort_values(_TIME)
    fastest = kept.groupby(name)[_TIME].min()
    best = kept[name].iloc[0]
    order = [_word(value) for value in sorted(kept[name].unique(), key=_by_size)]
    points = [
        {"x": _word(value), "y": time, "shown": shown}
        for value, time, shown in kept.iloc[thinned(range(len(kept)), MOST_POINTS)].itertuples(
            index=False
        )
    ]
    line = [{"x": _word(value), "y": time} for value, time in fastest.items()]
    x = named("x", sort=order, axis={"labelAngle": 0, "labelOverlap": True, "title": None})
    y = amount("y", "µs", log=True, axis={"tickCount": 4})
    kinds = {k: c for k, c in COLOURS.items() if k in set(kept[_SHOWN])}
    colour = coloured("shown", colours=kinds) | {"legend": None}
    spec = layered(
        layer(line, {"type": "line", "color": "--soft", "strokeWidth": 1.5}, x=x, y=y),
        layer(
            points,
            {"type": "point", "filled": True, "opacity": 0.7, "size": 28},
            x=x,
            y=y,
            color=colour,
            tooltip=told(x="value", y="µs", shown="candidate"),
        ),
        height=150,
    )
    usual = "" if default is None else f" default {default};"
    return Chart(
        name,
        f"{usual} fastest with {_word(best)}",
        f"Time in microseconds by {name}: "
        + "; ".join(f"{_word(v)}: {t:,.1f} at best" for v, t in fastest.items())
        + ".",
        spec,
    )


def _domains(run: Run) -> dict[tuple[str, str], Knob]:
    """Knobs by pipeline and name, of the spaces that candidates were taken from.

    None where these are not known here.
    """
    try:
        spaces = spaces_of(run.setup.dispatch, run.setup.queue)
    except Exception:  # plug-ins that are gone, or whose spaces need what the compiler emits
        return {}
    return {
        (pipeline, knob.name): knob for pipeline, space in spaces.items() for knob in space.knobs
    }


def _marked(value: int, knob: Knob | None) -> str:
    return f"{value}" if knob is None or value in knob.values else f"{value} ({OUTSIDE})"


def _range(knob: Knob) -> str:
    values = knob.values
    if len(values) <= 8:
        return ", ".join(map(str, values))
    return f"{len(values)} values from {values[0]} to {values[-1]}"


def _word(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _by_size(value: object) -> tuple[bool, float, str]:
    """Numbers by size, before words."""
    try:
        return False, float(str(value)), ""
    except ValueError:
        return True, 0.0, str(value)
