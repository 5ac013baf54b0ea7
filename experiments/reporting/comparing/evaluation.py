"""The page of an evaluation: which order finds it soonest, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ..drawing import (
    Article,
    Block,
    Cell,
    Chart,
    Facts,
    Figure,
    Section,
    Table,
    Text,
    amount,
    coloured,
    layer,
    layered,
    named,
    number,
    rows_height,
    told,
)
from .evaluations import COLUMNS, EvaluationTables, read_evaluation

_QUARTILES = (0.25, 0.5, 0.75)


def evaluation_article(folder: Path) -> Article:
    """All about an evaluation.

    Raises:
        InputError: it is none, or damaged.
    """
    found = read_evaluation(folder)
    makers: tuple[tuple[str, Callable[[EvaluationTables], Iterator[Block]]], ...] = (
        ("Which order finds it soonest?", _rankers),
        ("How good is the best so far?", _curves),
        ("Recordings", _cases),
        ("What to know beside it", _notes),
    )
    return Article(
        title=f"Evaluation of {len(found.names)} orders on {len(found.cases)} recordings",
        kind="evaluation",
        path=str(folder),
        figures=tuple(_figures(found)),
        sections=tuple(Section.of(title, make(found)) for title, make in makers),
    )


def _figures(found: EvaluationTables) -> Iterator[Figure]:
    best, figures = found.names[0], found.rankers.iloc[0]
    low, high = (figures.get(f"fewer_than_shuffle_{end}") for end in ("low", "high"))
    interval = f"95 %: {low:.1f} to {high:.1f}" if low == low and low is not None else ""
    taken = figures["iterations_geomean"]
    if taken == taken:  # NaN where the default wins everywhere
        yield Figure("soonest", best, f"{taken:.1f} candidates")
        yield Figure("fewer than random", f"{figures['fewer_than_shuffle']:.1f}x", interval)
    yield Figure("left out", str(found.told.get("holdout", "")), "what each was not trained on")
    yield Figure("recordings", str(len(found.cases)), f"{found.told.get('problems')} problems")


def _rankers(found: EvaluationTables) -> Iterator[Block]:
    yield Text(
        "Candidates are those tried until the first within 5 % of the best known, failures "
        "included, as a geometric mean; random order (shuffle) is its exact expectation."
    )
    values = [
        {
            "name": name,
            "middle": row["fewer_than_shuffle"],
            "low": row.get("fewer_than_shuffle_low"),
            "high": row.get("fewer_than_shuffle_high"),
        }
        for name, row in zip(found.names, found.rankers.to_dict("records"), strict=True)
    ]
    title = "times fewer candidates than random order"
    y, tip = named("name"), told(name="order", middle="times fewer", low="from", high="to")
    spec = layered(
        layer(
            [v for v in values if v["low"] == v["low"] and v["low"] is not None],
            {"type": "rule", "strokeWidth": 3, "color": "--accent"},
            y=y,
            x=amount("low", title, log=True),
            x2={"field": "high"},
        ),
        layer(
            values,
            {"type": "point", "filled": True, "size": 110, "color": "--accent", "opacity": 1},
            y=y,
            x=amount("middle", title, log=True),
            tooltip=tip,
        ),
        height=rows_height(len(values)),
    )
    drawn = [v for v in values if v["middle"] is not None and v["middle"] == v["middle"]]
    listed = "; ".join(f"{v['name']}: {v['middle']:.1f}" for v in drawn)
    listed = listed or "Nothing is to be found: the default wins everywhere"
    yield Chart(
        "Times fewer candidates than random order",
        "With 95 % intervals; those that overlap are not told apart.",
        f"Times fewer candidates than random order takes. {listed}.",
        spec,
    )
    known = [column for column in COLUMNS if column[0] in found.rankers]
    yield Table.of(
        "All figures; regret is how much slower than the best known one is who takes the best of "
        "the first 16",
        ["ranker", *(title for _, title, *_ in known)],
        [
            (
                Cell(name),
                *(
                    number(row[column] * factor, form, ending)
                    for column, _, form, factor, ending in known
                ),
            )
            for name, row in zip(found.names, found.rankers.to_dict("records"), strict=True)
        ],
    )


def _curves(found: EvaluationTables) -> Iterator[Block]:
    by_case = found.curves.groupby([found.results["ranker"], found.results["case"]]).mean()
    # How much slower than the best recorded one the best so far is, in percent.
    regrets = 100 * (1 / by_case.where(by_case > 0) - 1)
    yield _curve(
        regrets,
        found.names,
        "regret, % (the median recording)",
        "Regret by candidates taken",
        "How much slower than the best that was recorded the best so far is; bands hold the middle "
        "half of the recordings. It begins where half of the recordings have one that ran.",
    )
    yield Text(
        "The table above counts the compiler's default as a candidate that everybody has, which "
        "these curves do not."
    )


def _curve(table: pd.DataFrame, names: Sequence[str], title: str, heading: str, what: str) -> Chart:
    values = []
    for name in names:
        rows = table.loc[name]
        # A recording of which nothing ran yet is worse than any.
        worst = rows.fillna(np.inf).to_numpy()
        # Midpoints, of the two beside a quantile; NumPy makes NaN of one that is infinite.
        beside = [np.quantile(worst, _QUARTILES, axis=0, method=m) for m in ("lower", "higher")]
        parts = np.mean(beside, axis=0)
        values += [
            {"x": int(k), "low": low, "y": middle, "high": high, "name": name}
            for k, low, middle, high in zip(rows.columns, *parts.tolist(), strict=True)
            if np.isfinite(middle)
        ]
    values = [v | {"high": v["high"] if np.isfinite(v["high"]) else v["y"]} for v in values]
    x = amount("x", "candidates taken", log=True)
    y = amount("y", title, scale={"zero": True})
    colour = coloured("name", colours=_colours(names))
    tip = told(name="order", x="candidates", y="regret, %", low="a quarter below", high="above")
    spec = layered(
        layer(
            values,
            {"type": "area", "interpolate": "step-after", "opacity": 0.12},
            x=x,
            y=amount("low", title, scale={"zero": True}),
            y2={"field": "high"},
            color=colour,
        ),
        layer(
            values,
            {"type": "line", "interpolate": "step-after", "strokeWidth": 2.5},
            x=x,
            y=y,
            color=colour,
        ),
        layer(
            [v for v in values if v["x"] in (1, 2, 4, 8, 16, 32, 64)],
            {"type": "point", "filled": True, "size": 45, "opacity": 1},
            x=x,
            y=y,
            color=colour,
            tooltip=tip,
        ),
        height=340,
    )
    at = {v["name"]: v["y"] for v in values if v["x"] == 16}
    listed = "; ".join(f"{name}: {value:.1f} %" for name, value in at.items())
    return Chart(heading, what, f"{heading}, in the median; after 16 candidates {listed}.", spec)


def _cases(found: EvaluationTables) -> Iterator[Block]:
    results = found.results
    means = results.groupby(["case", "ranker"], sort=False)["iterations_5"].mean()
    order = results.drop_duplicates("case").sort_values("expected")["case"]
    values = [
        {"case": case, "name": name, "x": means[case, name]}
        for case in order
        for name in found.names
        if (case, name) in means.index
    ]
    spec = layered(
        layer(
            values,
            {"type": "point", "filled": True, "size": 70, "opacity": 0.9},
            y=named("case", axis={"grid": True}),
            x=amount("x", "candidates until the first within 5 % of the best", log=True),
            color=coloured("name", colours=_colours(found.names)),
            tooltip=told(case="recording", name="order", x="candidates"),
        ),
        height=rows_height(len(order)),
    )
    yield Chart(
        "Candidates by recording",
        "The hardest recording is last; left is sooner.",
        f"Candidates that each order takes on each of {len(order)} recordings, of which the table "
        f"below has the numbers.",
        spec,
    )
    named_ones = [name for name in found.names if f"iterations_{name}" in found.cases]
    yield Table.of(
        "Each recording, and the candidates that each order takes on it",
        ["recording", "device", "#candidates", "#near-optimal", *(f"#{n}" for n in named_ones)],
        [
            (
                Cell(str(case)),
                Cell(str(row.get("device", ""))),
                number(row.get("candidates"), ",.0f"),
                Cell("the default wins")
                if row.get("default_wins")
                else number(100 * row.get("difficulty", np.nan), ".2f", " %"),
                *(number(row[f"iterations_{name}"], ".1f") for name in named_ones),
            )
            for case, row in zip(found.cases.index, found.cases.to_dict("records"), strict=True)
        ],
    )


def _notes(found: EvaluationTables) -> Iterator[Block]:
    notes = found.told.get("notes")
    for note in notes if isinstance(notes, list) else []:
        yield Text(f"{str(note)[:1].upper()}{str(note)[1:]}.")
    asked = ("holdout", "folds", "seeds", "seed", "recordings", "families", "devices", "data")
    yield Facts.of(
        [
            *((name, found.told[name]) for name in asked if found.told.get(name) is not None),
            ("frontrunner", found.told.get("frontrunner", "")),
        ]
    )


def _colours(names: Sequence[str]) -> dict[str, str]:
    """Each order has the same colour on all charts."""
    return {name: f"--c{1 + at % 8}" for at, name in enumerate(names)}
