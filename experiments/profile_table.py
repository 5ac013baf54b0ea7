"""Rows of a profile as tables: for people, for spreadsheets, for pandas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from pathlib import Path

import pandas as pd

from ..search.files import write_whole
from .profile_log import IREE, PASSED, UNCHECKED, UNKNOWN, Row

TITLES = (
    "operation", "configuration", "provider", "verified", "#time", "#noise", "#GFLOP/s",
    "#of roofline", "#of peak",
)  # fmt: skip
_VERIFIED = {PASSED: "yes", UNCHECKED: "", UNKNOWN: UNKNOWN}


def cells(row: Row) -> list[str]:
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
        "" if row.time_us is None else f"{row.time_us:,.1f} µs",
        "" if row.noise is None else f"± {row.noise:.1%}",
        "" if row.gflops is None else f"{row.gflops:.1f}",
        "" if row.roofline_share is None else f"{row.roofline_share:.0%}",
        "" if row.peak_share is None else f"{row.peak_share:.0%}",
    ]


def frame_of(rows: Sequence[Row]) -> pd.DataFrame:
    """A column per figure, per size and per knob, and one for the time of each other library."""
    plain = [f.name for f in fields(Row) if f.name not in ("sizes", "knobs", "digest")]
    found = pd.DataFrame([{k: v for k, v in asdict(r).items() if k in plain} for r in rows])
    found = found.reindex(columns=plain)
    for provider in dict.fromkeys(r.provider for r in rows if r.provider != IREE):
        times = {r.operation: r.time_us for r in rows if r.provider == provider}
        found[f"{provider}_us"] = pd.to_numeric(found["operation"].map(times))
    for parts in ([r.sizes for r in rows], [r.knobs for r in rows]):
        columns = pd.DataFrame(parts, index=found.index).astype("Int64")
        found = pd.concat([found, columns], axis=1)
    return found


def write_tables(rows: Sequence[Row], output: Path) -> None:
    """Writes CSV and Parquet.

    Raises:
        WorkError: the disk is full or the like.
    """
    frame = frame_of(rows)
    remedy = "make room, then run the same command again: nothing is measured anew"
    write_whole(output.with_suffix(".csv"), frame.to_csv(index=False).encode(), remedy)
    write_whole(output.with_suffix(".parquet"), frame.to_parquet(index=False), remedy)


def summary(rows: Iterable[Row]) -> str:
    """How many rows came to what."""
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.outcome] = counts.get(row.outcome, 0) + 1
    return ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in counts.items())
