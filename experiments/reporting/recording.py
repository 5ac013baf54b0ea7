"""The page of a recording, or of a folder of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...benchmarks.compiling import normalise
from ...benchmarks.measuring import NEAR_OPTIMAL, OK
from ...search import PIPELINE, knob_value
from ..dataset import DEFAULT, ORIGIN, Recording, rows_with
from ..learning import Case, read_cases
from .drawing import (
    Article,
    Block,
    Cell,
    Chart,
    Charts,
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
    thinned,
    time_text,
    told,
    whole,
)
from .knobs import knob_charts

MOST_POINTS = 2000
# Of a folder's chart; the table has all.
MOST_RECORDINGS = 80
TOP = 20


def recording_article(path: Path) -> Article:
    """All about one recording, or about all of a folder.

    Raises:
        InputError: there is none, or one is damaged.
    """
    cases = read_cases([path])
    return _of_one(cases[0], path) if len(cases) == 1 else _of_many(cases, path)


def _of_one(case: Case, path: Path) -> Article:
    recording = case.recording
    frame = _rows(case)
    sections = [
        Section.of("How are the times spread?", _spread(case, frame)),
        Section.of("The best and the default", _best(case, frame)),
        Section.of("What knobs do", _effects(case, frame)),
        Section.of("What failed", _failed(recording)),
        Section.of("Provenance", [_provenance(recording, path)]),
    ]
    return Article(
        title=case.name,
        kind="recording",
        path=str(path),
        figures=tuple(_figures(case, frame)),
        sections=tuple(sections),
    )


def _rows(case: Case) -> pd.DataFrame:
    """What was recorded, with `time` in microseconds, drift taken out, and `from`."""
    frame = case.recording.frame.reset_index(drop=True)
    frame[_TIME], frame[_FROM] = case.times, frame[ORIGIN].str.split(",").str[0]
    return frame


_TIME, _FROM = "time of a candidate", "how a candidate came in"


def _default(frame: pd.DataFrame) -> pd.Series | None:
    """The row of the compiler's default, where it was recorded."""
    rows = rows_with(DEFAULT, frame[ORIGIN])
    return frame.loc[rows[0]] if len(rows) else None


def _figures(case: Case, frame: pd.DataFrame) -> Iterator[Figure]:
    best, ran = float(frame[_TIME].min()), int((frame["kind"] == OK).sum())
    if case.baseline_us == case.baseline_us:
        remark = f"{time_text(case.baseline_us)} to {time_text(best)}"
        yield Figure("best over the default", f"{case.baseline_us / best:.2f}x", remark)
    else:
        yield Figure("best", time_text(best), "no default is known")
    yield Figure("candidates", f"{len(frame):,}", f"{ran:,} ran")
    near = int((frame[_TIME] <= (1 + NEAR_OPTIMAL) * best).sum())
    yield Figure("within 5 % of the best", f"{near}", f"{near / len(frame):.1%} of all")
    if (floor := case.recording.provenance.noise_floor) is not None:
        yield Figure("noise floor", f"{floor:.1%}", "the smallest difference that means anything")


def _spread(case: Case, frame: pd.DataFrame) -> Iterator[Block]:
    ran = frame.dropna(subset=_TIME).sort_values(_TIME, ignore_index=True)
    ran["place"] = np.arange(1, len(ran) + 1)
    names = list(dict.fromkeys(sorted(ran[_FROM].astype(str))))
    several = len(names) > 1
    points = [
        {"x": r["place"], "y": r[_TIME], "from": r[_FROM], "knobs": _knobs(case, r)}
        for r in ran.iloc[thinned(range(len(ran)), MOST_POINTS)].to_dict("records")
    ]
    colours = {name: f"--c{1 + at % 8}" for at, name in enumerate(names)}
    layers = [
        layer(
            points,
            {"type": "point", "filled": True, "size": 40, "opacity": 0.75},
            x=whole("x", "place by time"),
            y=amount("y", "time, µs", log=True),
            color=coloured("from", "came in as", colours) if several else None,
            tooltip=told(x="place", y="µs", **{"from": "came in as"}, knobs="knobs"),
        )
    ]
    if case.baseline_us == case.baseline_us:
        rule = {"type": "rule", "color": "--soft", "strokeDash": [5, 4]}
        layers.insert(
            0, layer([{"y": case.baseline_us}], rule, y=amount("y", "time, µs", log=True))
        )
    yield Chart(
        "Candidates by time",
        "How much is there to win, and how rare are good candidates? The dashed level is the "
        "compiler's default. Only uniform ones are a fair sample of the space.",
        f"{len(ran)} candidates that ran, from {ran[_TIME].iloc[0]:,.1f} to "
        f"{ran[_TIME].iloc[-1]:,.1f} µs; the median is {ran[_TIME].median():,.1f} µs.",
        layered(*layers, height=320),
    )


def _best(case: Case, frame: pd.DataFrame) -> Iterator[Block]:
    best, default = frame.nsmallest(1, _TIME).iloc[0], _default(frame)
    if default is not None:
        rows = []
        for name in case.recording.knobs:
            values = [_word(row[name]) for row in (default, best)]
            rows.append((Cell(name), *map(Cell, values)))
        changed = [at for at, (_, mine, theirs) in enumerate(rows) if mine.text != theirs.text]
        yield Table.of(
            "Knobs; rows that stand out differ", ["knob", "default", "best"], rows, chosen=changed
        )
    else:
        yield Text("The compiler's default is none of the candidates.")
    ranked = frame.dropna(subset=_TIME).nsmallest(TOP, _TIME).to_dict("records")
    yield Table.of(
        f"The best {len(ranked)}",
        ["#place", "#time, µs", "#of the best", "#spread", "#measured", "came in as", "knobs"],
        [
            (
                number(at, "d"),
                number(row[_TIME], ",.1f"),
                number(row[_TIME] / best[_TIME], ".3f", "x"),
                number(100 * row["spread"], ".1f", " %"),
                number(row["measurements"], "d"),
                Cell(str(row[ORIGIN])),
                Cell(_knobs(case, row)),
            )
            for at, row in enumerate(ranked, 1)
        ],
    )


def _effects(case: Case, frame: pd.DataFrame) -> Iterator[Block]:
    ran = frame.dropna(subset=_TIME).reset_index(drop=True)
    default = _default(frame)
    known = {} if default is None else {n: default[n] for n in case.recording.knobs}
    usual = {name: knob_value(value) for name, value in known.items() if not pd.isna(value)}
    times = ran[_TIME].tolist()
    charts = knob_charts(ran[case.recording.knobs], times, ["ran"] * len(ran), usual)
    yield Text("Each dot is a candidate, the line joins the fastest of each value.")
    yield Charts(charts)


def _failed(recording: Recording) -> Iterator[Block]:
    frame = recording.frame
    failed = frame[frame["kind"] != OK]
    if failed.empty:
        yield Text("No candidate failed.")
        return
    reasons = failed["reason"].fillna("").astype(str)
    alike = failed.assign(key=reasons.map(normalise), said=reasons)
    groups = sorted(
        (rows for _, rows in alike.groupby(["kind", "key"], sort=False)), key=lambda r: -len(r)
    )
    yield Table.of(
        f"{len(failed)} of {len(frame)} candidates failed, for {len(groups)} reasons",
        ["#count", "came to", "reason, of the first"],
        [
            (
                number(len(rows), "d"),
                Cell(str(rows["kind"].iloc[0]).replace("_", " ")),
                Cell(str(rows["said"].iloc[0])),
            )
            for rows in groups
        ],
    )


def _provenance(recording: Recording, path: Path) -> Facts:
    about, drawn = recording.provenance, recording.provenance.drawn
    target = about.target
    return Facts.of(
        [
            ("problem", about.problem.label),
            ("target", f"{target.name} ({target.arch}, {target.backend})" if target else ""),
            ("devices", ", ".join(about.devices.values())),
            ("compiler", about.compiler),
            ("runtime", about.runtime),
            ("made by", about.created_by),
            ("timing", about.timing),
            ("pipeline", drawn.pipeline or "" if drawn else ""),
            ("pool", f"{drawn.pool:,}" if drawn and drawn.pool else ""),
            ("rankers", ", ".join(drawn.rankers) if drawn else ""),
            ("seed", "" if about.seed is None else about.seed),
            ("file", path),
        ]
    )


def _of_many(cases: list[Case], path: Path) -> Article:
    rows = [_summed_up(case) for case in cases]
    gains = [row["gain"] for row in rows if row["gain"] == row["gain"]]
    figures = [
        Figure("recordings", str(len(rows)), f"of {len({r['device'] for r in rows})} devices")
    ]
    if gains:
        mean = float(np.exp(np.mean(np.log(gains))))
        figures.append(Figure("best over default", f"{mean:.2f}x", "as a geometric mean"))
    figures.append(Figure("candidates", f"{sum(r['candidates'] for r in rows):,}"))
    return Article(
        title=f"{len(cases)} recordings",
        kind="recordings",
        path=str(path),
        figures=tuple(figures),
        sections=(Section.of("What is there to win?", _gains(rows)),),
    )


def _summed_up(case: Case) -> dict[str, Any]:
    best = float(np.nanmin(case.times))
    near = np.nansum(case.times <= (1 + NEAR_OPTIMAL) * best)
    return {
        "name": case.name,
        "device": case.device,
        "family": case.family,
        "candidates": len(case.times),
        "failed": int(np.isnan(case.times).sum()),
        "best": best,
        "gain": case.baseline_us / best,
        "near": near / len(case.times),
    }


def _gains(rows: list[dict[str, Any]]) -> Iterator[Block]:
    known = sorted((r for r in rows if r["gain"] == r["gain"]), key=lambda r: -r["gain"])
    shown = known[:MOST_RECORDINGS]
    if shown:
        names = list(dict.fromkeys(sorted(row["device"] for row in shown)))
        colours = {name: f"--c{1 + at % 8}" for at, name in enumerate(names)}
        tip = told(name="recording", device="device", gain="times as fast", near="near-optimal")
        spec = layered(
            layer(
                shown,
                {"type": "point", "filled": True, "size": 70, "opacity": 0.9},
                y=named("name", axis={"grid": True}),
                x=amount("gain", "the best, times as fast as the default", log=True),
                color=coloured("device", colours=colours),
                tooltip=tip,
            ),
            height=rows_height(len(shown)),
        )
        yield Chart(
            "The best candidate over the compiler's default",
            "On which is most to win?"
            + (f" The {len(shown)} with most." if len(shown) < len(known) else ""),
            f"From {shown[-1]['gain']:.2f} to {shown[0]['gain']:.2f} times as fast as the default.",
            spec,
        )
    columns = ["recording", "family", "device", "#candidates", "#failed", "#best, µs"]
    yield Table.of(
        "Each recording",
        [*columns, "#over the default", "#near-optimal"],
        [
            (
                Cell(row["name"]),
                Cell(row["family"]),
                Cell(row["device"]),
                number(row["candidates"], ",d"),
                number(row["failed"], ",d"),
                number(row["best"], ",.1f"),
                number(row["gain"], ".2f", "x"),
                number(100 * row["near"], ".2f", " %"),
            )
            for row in rows
        ],
    )


def _knobs(case: Case, row: Mapping[Any, Any]) -> str:
    """A candidate in words."""
    known = ((name, row[name]) for name in case.recording.knobs)
    words = ", ".join(f"{name} {_word(value)}" for name, value in known if not pd.isna(value))
    return f"{row[PIPELINE]}: {words}" if case.recording.has_several_pipelines else words


def _word(value: Any) -> str:
    return "" if pd.isna(value) else str(knob_value(value))
