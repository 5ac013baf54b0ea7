"""How a run went: the best so far, every candidate, and whether the machine kept still."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .drawing import (
    Block,
    Cell,
    Chart,
    Course,
    Table,
    Text,
    amount,
    coloured,
    layer,
    layered,
    line_at,
    number,
    thinned,
    told,
    whole,
)
from .runs import COLOURS, Run

# Of more, some are left out of the charts, never the best.
MOST_POINTS = 3000
MOST_BEST = 500
TOP = 20
# What a machine that keeps still does at most, from one tenth of the run to another.
STEADY = 1.10


def course(run: Run) -> Course | None:
    """The best so far; None where nothing ran."""
    frame = run.taken.dropna(subset="best")
    steps = frame[frame["best"] != frame["best"].shift()]
    if steps.empty:
        return None
    taken = [*steps["taken"].astype(int), int(run.taken["taken"].iloc[-1])]
    return Course(tuple(taken), (*steps["best"], float(steps["best"].iloc[-1])))


def best_so_far(run: Run) -> Iterator[Block]:
    """When the best was found, by candidates and by seconds."""
    if run.near is None:
        yield Text("No candidate has run yet.")
        return
    yield _steps(run, "taken", "candidates taken", "The best so far, by candidates")
    if run.near["elapsed"] == run.near["elapsed"]:  # NaN: an older version took it
        yield _steps(run, "elapsed", "seconds of work", "The best so far, by seconds")
    else:
        yield Text(
            "Its log does not tell when the first near-optimal candidate came: it was measured "
            "elsewhere, or by an older version."
        )


def _steps(run: Run, field: str, title: str, heading: str) -> Chart:
    frame, near = run.taken.dropna(subset=["best", field]), run.near
    assert near is not None
    changes = frame[(frame["best"] != frame["best"].shift()) | (frame.index == frame.index[-1])]
    values = [
        {"x": row[field], "y": run.time_us(row["best"]), "faster": 1 / row["best"]}
        for row in changes.to_dict("records")
    ]
    at = {"x": near[field], "y": run.time_us(near["relative"]), "faster": 1 / near["relative"]}
    x = (whole if field == "taken" else amount)("x", title)
    y = amount("y", "best so far, µs", log=True)
    tip = told(x=title, y="best, µs", faster="times as fast as the default")
    spec = layered(
        line_at(run.default_us or 1.0, "--soft", axis="y"),
        line_at(near[field], "--good"),
        layer(
            values,
            {"type": "line", "interpolate": "step-after", "color": "--accent", "strokeWidth": 2.5},
            x=x,
            y=y,
        ),
        layer(
            values,
            {"type": "point", "filled": True, "color": "--accent", "size": 40},
            x=x,
            y=y,
            tooltip=tip,
        ),
        layer(
            [at],
            {"type": "point", "shape": "diamond", "filled": True, "color": "--good", "size": 140},
            x=x,
            y=y,
            tooltip=tip,
        ),
    )
    last = values[-1]
    return Chart(
        heading,
        "The dashed level is the compiler's default, the diamond the first candidate within 5 % of "
        "the best of the run.",
        f"The best so far by {title}, from {values[0]['y']:,.1f} to {last['y']:,.1f} µs; the first "
        f"within 5 % of the best came at {near[field]:,.0f} {title}.",
        spec,
    )


def candidates(run: Run) -> Iterator[Block]:
    """Every candidate: what it took, and what became of it."""
    frame = run.taken
    if frame.empty:
        yield Text("No candidate was taken yet.")
        return
    ran = frame.dropna(subset="relative")
    shown = set(ran.nsmallest(MOST_BEST, "relative").index)
    shown |= set(thinned(list(ran.index), MOST_POINTS))
    if len(shown) < len(ran):
        yield Text(f"Of {len(ran):,} that ran, the chart has the fastest and a part of the rest.")
    points = [
        {
            "x": row["place"],
            "y": run.time_us(row["relative"]),
            "shown": row["shown"],
            "knobs": run.knobs(row["place"]),
            "faster": round(1 / row["relative"], 3),
        }
        for row in ran.loc[sorted(shown)].to_dict("records")
    ]
    failed = [
        {"x": r["place"], "shown": r["shown"], "knobs": run.knobs(r["place"]), "why": r["reason"]}
        for r in frame.loc[
            thinned(list(frame.index[frame["relative"].isna()]), MOST_POINTS)
        ].to_dict("records")
    ]
    kinds = {k: c for k, c in COLOURS.items() if k in set(frame["shown"])}
    colour = coloured("shown", colours=kinds)
    layers = []
    if points and run.default_us:
        layers = [
            line_at(run.default_us, "--soft", axis="y"),
            layer(
                points,
                {"type": "point", "filled": True, "opacity": 0.85, "size": 50},
                x=whole("x", "place in the queue"),
                y=amount("y", "time, µs", log=True),
                color=colour,
                tooltip=told(x="candidate", y="µs", faster="times as fast", knobs="knobs"),
            ),
        ]
    if failed:
        layers.append(
            layer(
                failed,
                {"type": "tick", "thickness": 2, "size": 14, "yOffset": 6, "opacity": 1},
                x=whole("x", "place in the queue"),
                y={"value": {"expr": "height"}},
                color=colour,
                tooltip=told(x="candidate", shown="came to", why="why", knobs="knobs"),
            )
        )
    counts = frame["shown"].value_counts()
    yield Chart(
        "Every candidate",
        "Did fast ones come early, and what failed? Time against place in the queue, drift taken "
        "out; ticks on the axis failed. Point at one for its knobs.",
        f"{len(frame)} candidates: {', '.join(f'{n} {k}' for k, n in counts.items())}.",
        layered(*layers, height=340 if points else 90),
    )
    if len(ran):
        yield _top(run)


def _top(run: Run) -> Table:
    ran = run.taken.dropna(subset="relative")
    best = ran.nsmallest(TOP, "relative").to_dict("records")
    finalists = {one.index + 1: one for one in run.tuned.finalists} if run.tuned else {}
    rows = []
    for row in best:
        final = finalists.get(row["place"])
        rows.append(
            (
                number(row["measured_place"], ".0f"),
                number(row["place"], ".0f"),
                number(1 / row["relative"], ".2f", "x"),
                number(run.time_us(row["relative"]), ",.1f"),
                number(final.speedup if final else None, ".2f", "x"),
                Cell(row["shown"]),
                Cell(run.knobs(row["place"])),
            )
        )
    return Table.of(
        f"The best {len(rows)} by the search's own times, and what the finals made of them",
        ["#place", "#in the queue", "#searched", "#µs", "#in the finals", "came to", "knobs"],
        rows,
        chosen=[i for i, row in enumerate(best) if row["shown"] == "winner"],
    )


def machine(run: Run) -> Iterator[Block]:
    """Whether the default kept its time while candidates were measured."""
    frame = run.taken.dropna(subset="baseline_us")
    if frame.empty:
        yield Text("The default was not timed.")
        return
    tenth = frame["taken"].rank(pct=True).mul(10).apply(np.ceil)
    # Of each device by itself: some are slower than others.
    shares = frame["baseline_us"] / frame.groupby("device")["baseline_us"].transform("median")
    parts = (shares * frame["baseline_us"].median()).groupby(tenth).median()
    drift = parts.max() / parts.min()
    if frame["baseline_us"].nunique() == 1:
        yield Text(f"The default was timed once: {parts.max():,.1f} µs.")
    else:
        word = "drifted" if drift > STEADY else "kept still"
        yield Text(
            f"The default {word}: in tenths of the run, its time was between {parts.min():,.1f} "
            f"and {parts.max():,.1f} µs, a factor of {drift:.2f}. Candidates are compared with the "
            f"default beside them, so that drift is in no speedup.",
            warning=drift > STEADY,
        )
    if run.tuned is not None and len(run.tuned.finalists):
        finals_us = run.tuned.baseline_us
        yield Text(
            f"In the finals it took {finals_us:,.1f} µs, "
            f"{finals_us / frame['baseline_us'].median():.2f} times its median in the search, and "
            f"differed from itself by {run.tuned.noise_floor:.1%}."
        )
    load = run.tuned.load if run.tuned else None
    if load is not None:
        yield Text(
            f"After the finals, {load.average:.1f} threads ran or wanted to over the last minute, "
            f"on {load.cores} cores; a run on its own keeps some {load.cores} busy."
        )
    several = frame["device"].nunique() > 1
    values = [
        {"x": r["taken"], "y": r["baseline_us"], "device": r["device"]}
        for r in frame.loc[thinned(list(frame.index), MOST_POINTS)].to_dict("records")
    ]
    spec = layered(
        layer(
            values,
            {"type": "line", "point": True, "color": "--accent"},
            x=whole("x", "candidates taken"),
            y=amount("y", "the default, µs"),
            color=coloured("device") if several else None,
            tooltip=told(x="candidate", y="µs", device="device"),
        ),
        height=180,
    )
    yield Chart(
        "The default over the run",
        "The compiler's default, measured beside each batch of candidates.",
        f"The default's time over the run: {frame['baseline_us'].min():,.1f} to "
        f"{frame['baseline_us'].max():,.1f} µs.",
        spec,
    )
