"""Rows of a profile as tables: for people, for spreadsheets, for pandas."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from ...benchmarks.libraries import Peak
from ...core import installed_version, write_atomically
from .log import DEFAULT, IREE, MAKE_ROOM, PASSED, UNCHECKED, Row

_TITLES = (
    "operation", "configuration", "provider", "verified", "#time", "#noise", "#GFLOP/s",
    "#of roofline", "#of peak",
)  # fmt: skip
# What the table is written as.
ENDINGS = (".csv", ".parquet")
_PLAIN = (DEFAULT, IREE)
_VERIFIED = {PASSED: "yes", UNCHECKED: ""}
# By the annotations of `Row`.
_DTYPES = {"str": "string", "int": "int64", "float | None": "float64"}


def table(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """For people: titles and cells, with a column for the time of each other library."""
    others = _times(rows)
    titles = [*_TITLES, *(f"#{library}" for library in others)]
    return titles, [
        [
            *_cells(row),
            *(_us(t.get(row.operation)) if row.provider == IREE else "" for t in others.values()),
        ]
        for row in rows
    ]


def blocks(rows: Sequence[Row]) -> Iterator[str]:
    """For people: some lines for each row."""
    for row in rows:
        yield ""
        for name, value in _block(row).items():
            if value:
                yield f"{name + ':':14}{value}"


def _block(row: Row) -> dict[str, str]:
    knobs = ", ".join(f"{name}={value}" for name, value in row.knobs.items())
    sizes = ", ".join(f"{name}={value}" for name, value in row.sizes.items())
    failed = f"{row.outcome.replace('_', ' ')}: {row.reason}" if row.failed else ""
    noise = "" if row.noise is None else f" (± {row.noise:.1%}, {row.runs} runs)"
    of_peak = "" if row.roofline_share is None else f", {row.roofline_share:.0%} of the roofline"
    return {
        "Operation": row.operation,
        "Kind": " + ".join(filter(None, [row.kind, *row.fused.split("+")])),
        "Provider": row.provider,
        "Configuration": f"{row.configuration} ({knobs})" if knobs else row.configuration,
        "Arguments": " ".join(filter(None, [sizes, row.types and f"({row.types})"])),
        "Verification": row.verification,
        "Failed": failed,
        "Compiled in": "" if row.compile_s is None else f"{row.compile_s:.2f} s",
        "Runtime": _us(row.time_us) + (noise if row.time_us is not None else ""),
        "GFLOP/s": "" if row.gflops is None else f"{row.gflops:.1f}{of_peak}",
    }


def _times(rows: Sequence[Row]) -> dict[str, dict[str, float | None]]:
    """By library and operation."""
    found: dict[str, dict[str, float | None]] = {}
    for row in rows:
        if row.provider != IREE:
            found.setdefault(row.provider, {})[row.operation] = row.time_us
    return found


def _us(time_us: float | None) -> str:
    return "" if time_us is None else f"{time_us:,.1f} µs"


def _cells(row: Row) -> list[str]:
    """A row for people; what failed says how."""
    verified = _VERIFIED.get(row.verification, row.verification)
    if row.time_us is None:
        why = f"{row.outcome.replace('_', ' ')}: {row.reason}" if row.reason else row.outcome
        verified = why if len(why) <= 70 else why[:69] + "…"
    return [
        row.operation,
        row.configuration,
        row.provider,
        verified,
        _us(row.time_us),
        "" if row.noise is None else f"± {row.noise:.1%}",
        "" if row.gflops is None else f"{row.gflops:.1f}",
        "" if row.roofline_share is None else f"{row.roofline_share:.0%}",
        "" if row.peak_share is None else f"{row.peak_share:.0%}",
    ]


def peak_line(peak: Peak) -> str:
    return (
        f"this machine's peak, measured: {peak.flops / 1e9:,.0f} GFLOP/s in f32, "
        f"{peak.bandwidth / 1e9:,.1f} GB/s"
    )


def frame_of(rows: Sequence[Row], about: Mapping[str, Any] | None = None) -> pd.DataFrame:
    """A column per figure, per size and per knob; other libraries have rows of their own.

    Args:
        about: what holds for all rows: where and with what they were made.
    """
    left_out = ("sizes", "knobs", "digest", "executable")
    plain = [f.name for f in fields(Row) if f.name not in left_out]
    found = pd.DataFrame([asdict(row) for row in rows]).reindex(columns=plain)
    # Also where a column holds nothing but None, or nothing at all.
    found = found.astype({f.name: _DTYPES[str(f.type)] for f in fields(Row) if f.name in plain})
    # Of configurations over the compiler's default, and of libraries, too.
    found["speedup"] = pd.Series(_default_times(rows), dtype="float64") / found["time_us"]
    found["version"] = [version_of(row.provider) for row in rows]
    for name, value in (about or {}).items():
        found[name] = value
    for parts in ([r.sizes for r in rows], [r.knobs for r in rows]):
        columns = pd.DataFrame(parts, index=found.index).astype("Int64")
        taken = {name: f"{name}_knob" for name in columns if name in found}
        found = pd.concat([found, columns.rename(columns=taken)], axis=1)
    return found


def _default_times(rows: Sequence[Row]) -> list[float]:
    """By row, what the compiler's default takes on the same device; NaN where that is not known."""
    found = {
        (row.operation, row.measured_on): row.time_us
        for row in rows
        if (row.configuration, row.provider) == _PLAIN
    }
    return [found.get((row.operation, row.measured_on)) or math.nan for row in rows]


@cache
def version_of(provider: str) -> str:
    """Of the library as it is installed; empty where that is not told."""
    return installed_version("iree-base-runtime" if provider == IREE else provider) or ""


def write_tables(
    rows: Sequence[Row],
    output: Path,
    about: Mapping[str, Any] | None = None,
    hint: str = MAKE_ROOM,
) -> None:
    """Writes CSV and Parquet, as `frame_of` has them.

    Args:
        hint: what to do where they cannot be written.

    Raises:
        WorkError: the disk is full or the like.
    """
    frame = frame_of(rows, about)
    remedy = f"{hint}: nothing is measured anew"
    write_atomically(output.with_suffix(".csv"), frame.to_csv(index=False).encode(), remedy)
    write_atomically(output.with_suffix(".parquet"), frame.to_parquet(index=False), remedy)


def summary(rows: Iterable[Row]) -> str:
    """How many rows came to what."""
    counts = Counter(row.outcome for row in rows)
    return ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in counts.items())
