"""The page of a profile: every dispatch and provider under the machine's roofline."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...benchmarks.libraries import Peak
from ...benchmarks.measuring import OK
from ...core import InputError
from ...search import ELEMENT_BYTES, TensorType
from ..profiling import (
    DEFAULT,
    IREE,
    GeneratedDispatch,
    LoggedProfile,
    Row,
    find_generated,
    planned_rows,
    read_profile_log,
)
from ..readable import count_of
from .drawing import (
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
    time_text,
    told,
)

# Dispatches of the chart of times; the table has all.
MOST_DISPATCHES = 60


def profile_article(log: Path) -> Article:
    """All about a profile.

    Args:
        log: the file of lines beside its table.

    Raises:
        InputError: it is none, or damaged.
    """
    profile = read_profile_log(log)
    generated = _generated(log.parent, {row.operation for row in profile.rows.values()})
    rows, gone = _rows_of(profile, generated)
    timed = [row for row in rows if row.time_us]
    sections = [
        Section.of(
            "Under the machine's roofline", _roofline(timed, profile.peak, log.parent, generated)
        ),
        Section.of("Times", _times(timed)),
        Section.of("All rows", [_table(rows), *gone]),
        Section.of("What failed", _failed(rows)),
        Section.of("Provenance", [_provenance(profile, log)]),
    ]
    return Article(
        title="Profile of " + count_of(len({row.operation for row in rows}), "dispatch", "es"),
        kind="profile",
        path=str(log),
        figures=tuple(_figures(rows, timed, profile.peak)),
        sections=tuple(sections),
    )


def _generated(folder: Path, names: Container[str]) -> list[GeneratedDispatch]:
    """The dispatches of a profile beside it; none where it was moved away from them."""
    try:
        return find_generated(folder, names)
    except InputError:
        return []


def _rows_of(
    profile: LoggedProfile, generated: Sequence[GeneratedDispatch]
) -> tuple[list[Row], list[Block]]:
    """The rows of what a folder holds now, as in its table, and what is told of others.

    Of libraries there are all: which version is there now does not matter here.
    """
    rows = [*profile.rows.values()]
    try:
        planned = planned_rows(generated, ())
    except InputError:  # a spec cannot be read
        return rows, []
    digests = dict(pair for one in planned for pair in one.rows())
    described = {one.generated.name for one in planned}
    kept = [
        row
        for key, row in profile.rows.items()
        if row.provider != IREE or row.operation not in described or digests.get(key) == row.digest
    ]
    if len(kept) == len(rows):
        return rows, []
    gone = count_of(len(rows) - len(kept), "row")
    return kept, [Text(f"Not shown: {gone} of dispatches or specs that have changed since.")]


def _figures(rows: Sequence[Row], timed: Sequence[Row], peak: Peak | None) -> Iterator[Figure]:
    operations = len({row.operation for row in rows})
    yield Figure("rows", f"{len(rows):,}", f"of {operations} dispatches, {len(timed):,} timed")
    failed = sum(row.failed for row in rows)
    yield Figure("failed", str(failed), "wrong, crashed or not compiled")
    shares = [row.roofline_share for row in timed if row.provider == IREE and row.roofline_share]
    if shares:
        best = max(shares)
        yield Figure("nearest to the roof", f"{best:.0%}", "of what the machine allows")
    if peak is not None:
        rate = f"{peak.flops / 1e9:,.0f} GFLOP/s"
        yield Figure("peak, measured", rate, f"f32; {peak.bandwidth / 1e9:,.1f} GB/s")


def _roofline(
    timed: Sequence[Row],
    peak: Peak | None,
    folder: Path,
    generated: Sequence[GeneratedDispatch],
) -> Iterator[Block]:
    if peak is None:
        yield Text("What this machine reaches at best was not measured.")
        return
    moved = _bytes_moved(generated)
    points: list[dict[str, Any]] = []
    for row in timed:
        if not row.gflops or not row.time_us:
            continue
        flops = row.gflops * row.time_us * 1e3
        if (size := moved.get(row.operation)) is None:
            continue
        points.append(
            {
                "x": flops / size,
                "y": row.gflops,
                "provider": row.provider,
                "name": row.operation,
                "configuration": row.configuration,
                "time": row.time_us,
                "share": row.roofline_share,
            }
        )
    if not points:
        yield Text(
            f"There are no dispatches in {folder} that tell how many bytes the rows move, so that "
            f"none can be placed under the roofline."
        )
        return
    if left := len(timed) - len(points):
        yield Text(f"{left} rows are left out: what they move or compute is not known.")
    ridge = peak.flops / peak.bandwidth
    low = min(ridge, *(p["x"] for p in points)) / 1.5
    high = max(ridge, *(p["x"] for p in points)) * 1.5
    roof = [{"x": x, "y": min(peak.flops, x * peak.bandwidth) / 1e9} for x in (low, ridge, high)]
    x = amount("x", "operations for each byte that has to be moved", log=True)
    y = amount("y", "GFLOP/s", log=True)
    tip = told(
        name="dispatch",
        provider="provider",
        configuration="configuration",
        time="µs",
        y="GFLOP/s",
        share="of the roofline",
    )
    spec = layered(
        layer(roof, {"type": "line", "color": "--soft", "strokeWidth": 2}, x=x, y=y),
        layer(
            points,
            {"type": "point", "filled": True, "size": 60, "opacity": 0.8},
            x=x,
            y=y,
            color=coloured("provider"),
            tooltip=tip,
        ),
        height=360,
    )
    nearest = max(points, key=lambda p: p["share"] or 0.0)
    yield Chart(
        "Roofline",
        "How far is each from what the machine allows, and what limits it? The line is measured "
        "arithmetic and bandwidth: left of its bend memory limits, right of it arithmetic. Caches "
        "can put small dispatches above it.",
        f"{len(points)} rows under a roof of {peak.flops / 1e9:,.0f} GFLOP/s and "
        f"{peak.bandwidth / 1e9:,.1f} GB/s; the nearest to it is {nearest['name']} in "
        f"{nearest['provider']} with {nearest['y']:,.1f} GFLOP/s.",
        spec,
    )


def _times(timed: Sequence[Row]) -> Iterator[Block]:
    """The default, the best configuration and libraries, by dispatch."""
    if not timed:
        yield Text("Nothing was timed.")
        return
    best: dict[tuple[str, str], Row] = {}
    for row in timed:
        who = "IREE, default" if row.configuration == DEFAULT else "IREE, best configuration"
        who = who if row.provider == IREE else row.provider
        before = best.get((row.operation, who))
        if before is None or (row.time_us or math.inf) < (before.time_us or math.inf):
            best[row.operation, who] = row
    names = list(dict.fromkeys(name for name, _ in best))
    shown = names[:MOST_DISPATCHES]
    if len(shown) < len(names):
        yield Text(f"The first {len(shown)} of {len(names)} dispatches; the table has all.")
    values: list[dict[str, Any]] = [
        {
            "name": name,
            "who": who,
            "time": row.time_us,
            "configuration": row.configuration,
            "noise": row.noise,
        }
        for (name, who), row in best.items()
        if name in shown
    ]
    tip = told(name="dispatch", who="by", configuration="configuration", time="µs", noise="±")
    spec = layered(
        layer(
            values,
            {"type": "point", "filled": True, "size": 80, "opacity": 0.9},
            y=named("name", axis={"grid": True}),
            x=amount("time", "time, µs", log=True),
            color=coloured("who"),
            tooltip=tip,
        ),
        height=rows_height(len(shown)),
    )
    listed = "; ".join(
        f"{v['name']} by {v['who']}: {time_text(v['time'] or 0)}" for v in values[:20]
    )
    yield Chart(
        "Time by dispatch and provider",
        "Who is fastest on each dispatch? Left is faster.",
        f"Times of dispatches: {listed}.",
        spec,
    )


def _table(rows: Sequence[Row]) -> Table:
    columns = [
        *("dispatch", "configuration", "provider", "verified", "#time, µs", "#noise"),
        *("#GFLOP/s", "#of roofline", "#compiled in, s"),
    ]
    return Table.of(
        "Every row of the profile",
        columns,
        [
            (
                Cell(row.operation),
                Cell(row.configuration),
                Cell(row.provider),
                Cell(row.verification if row.outcome == OK else row.outcome.replace("_", " ")),
                number(row.time_us, ",.1f"),
                number(None if row.noise is None else 100 * row.noise, ".1f", " %"),
                number(row.gflops, ",.1f"),
                number(
                    None if row.roofline_share is None else 100 * row.roofline_share, ".0f", " %"
                ),
                number(row.compile_s, ".2f"),
            )
            for row in rows
        ],
    )


def _failed(rows: Sequence[Row]) -> Iterator[Block]:
    failed = [row for row in rows if row.failed]
    if not failed:
        yield Text("Nothing failed.")
        return
    yield Table.of(
        f"{len(failed)} rows",
        ["dispatch", "configuration", "provider", "came to", "reason"],
        [
            (r.operation, r.configuration, r.provider, r.outcome.replace("_", " "), r.reason)
            for r in failed
        ],
    )


def _provenance(profile: LoggedProfile, log: Path) -> Facts:
    common = [(name.replace("_", " "), str(v)) for name, v in profile.made_how.items()]
    return Facts.of([*common, ("log", log)])


def _bytes_moved(generated: Sequence[GeneratedDispatch]) -> Mapping[str, int]:
    """What each dispatch reads and writes if each value is moved once, by name."""
    operations = {one.name: one.operation for one in generated if one.operation is not None}
    return {
        name: sum(map(_size, (*operation.inputs.values(), operation.output)))
        for name, operation in operations.items()
    }


def _size(tensor: TensorType) -> int:
    return math.prod(tensor.shape) * ELEMENT_BYTES[tensor.dtype]
