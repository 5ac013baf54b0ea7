"""Recordings from a table, once it is known what its columns are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from ...benchmarks.measuring import CRASHED, OK
from ...core import InputError, shorten
from .columns import UNITS, Columns, Label, is_value
from .foreign import FAILED_TIME, ForeignResult, build_foreign_recording, stage_of
from .knob_columns import knob_values, plain_value
from .origins import UNIFORM
from .provenance import ForeignKernel
from .recording import Recording
from .tables import Table

# Of more, a column was taken that tells no problems apart.
MAX_RECORDINGS = 1000
_STATUS_HINT = "list what stands for a failure in [status], or correct the line"


@dataclass(frozen=True)
class Source:
    """What a table's recordings are called where its columns do not say.

    Attributes:
        said_by: who says what columns are, for messages.
    """

    kernel: str
    device: str
    created_by: str
    said_by: str


def recordings_of(table: Table, columns: Columns, source: Source) -> list[Recording]:
    """A recording for each problem and device in a table, in the order of its rows.

    A candidate that several rows have is one, with the median of its times; it failed if all did.

    Raises:
        InputError: a column is missing, or a value makes no sense.
    """
    columns.check(table.header, table.path, source.said_by)
    table = _only(table, columns.only)
    names = columns.knob_columns(table.header)
    knobs = list(zip(*(knob_values(table, name, columns) for name in names), strict=True))
    ended = _outcomes(table, columns)
    found: dict[tuple[str, str], dict[tuple[Any, ...], list[_Ended]]] = {}
    labels = zip(
        _labels(table, columns.problem, source.kernel),
        _labels(table, columns.device, source.device),
        strict=True,
    )
    for label, values, one in zip(labels, knobs, ended, strict=True):
        found.setdefault(label, {}).setdefault(values, []).append(one)
    if len(found) > MAX_RECORDINGS:
        raise InputError(
            f"problem and device of {table.path} make {len(found):,} recordings, "
            f"{MAX_RECORDINGS:,} are the most",
            "name columns that tell problems and devices apart, not candidates",
        )
    timing = f"{', '.join(columns.times)} of the file; the median of repeats"
    return [
        build_foreign_recording(
            ForeignKernel(problem),
            device,
            [_result(dict(zip(names, v, strict=True)), rows) for v, rows in candidates.items()],
            source.created_by,
            timing,
        )
        for (problem, device), candidates in found.items()
    ]


@dataclass(frozen=True)
class _Ended:
    """How a row says that a candidate ended, with its times in microseconds."""

    kind: str
    times: tuple[float, ...]
    reason: str


def _only(table: Table, wanted: Mapping[str, Any]) -> Table:
    kept = [True] * len(table.rows)
    for name, given in wanted.items():
        values = given if isinstance(given, tuple) else (given,)
        cells = table.column(name)
        found = [any(is_value(cell, value) for value in values) for cell in cells]
        if not any(found):
            raise InputError(
                f"{table.path} has no line whose {name} is {', '.join(map(str, values))}",
                f"it is such as {cells[0]!r:.80}",
            )
        kept = [k and f for k, f in zip(kept, found, strict=True)]
    if not any(kept):
        raise InputError(
            f"{table.path} has no line with all that [only] asks for: {', '.join(wanted)}",
            "each is there by itself; ask for less",
        )
    return table.only(kept)


def _labels(table: Table, label: Label, usual: str) -> Sequence[str]:
    if not label.columns:
        return [label.name or usual] * len(table.rows)
    cells = [table.column(name) for name in label.columns]
    rows = list(zip(*cells, strict=True))
    labels = {row: "_".join(filter(None, row)) or usual for row in rows}
    if twice := [name for name, count in Counter(labels.values()).items() if count > 1]:
        raise InputError(
            f"{table.path}: several values of {', '.join(label.columns)} come to {twice[0]!r}",
            "change them, or take a column that tells them apart",
        )
    return [labels[row] for row in rows]


def _outcomes(table: Table, columns: Columns) -> list[_Ended]:
    scale = UNITS[columns.unit]
    says = columns.status
    statuses = table.column(says.column) if says else [""] * len(table.rows)
    kinds = {cell: says.kind(cell) if says else OK for cell in set(statuses)}
    found = []
    cells = zip(*map(table.column, columns.times), strict=True)
    for row, (status, repeats) in enumerate(zip(statuses, cells, strict=True)):
        if kinds[status] != OK:
            found.append(_Ended(kinds[status], (), shorten(status) or "it says so"))
            continue
        times = [
            time
            for name, cell in zip(columns.times, repeats, strict=True)
            for time in _times(table, row, name, cell)
        ]
        if says and not times:
            raise table.wrong(
                row,
                f"{', '.join(columns.times)} is empty, and {says.column}, which is "
                f"{status!r:.80}, says that it ran",
                _STATUS_HINT,
            )
        bad = [time for time in times if not 0 < time < FAILED_TIME]
        if bad or not times:
            what = f"its time is {bad[0]:g}" if bad else "it has no time"
            found.append(_Ended(CRASHED, (), what))
        else:
            found.append(_Ended(OK, tuple(time * scale for time in times), ""))
    return found


def _times(table: Table, row: int, name: str, cell: str) -> list[float]:
    """The times in a cell, which may be a list of repeats."""
    parts = cell[1:-1].split(",") if cell[:1] == "[" and cell[-1:] == "]" else [cell]
    found = []
    for part in filter(None, map(str.strip, parts)):
        value = plain_value(part)
        if isinstance(value, str):
            if part.lower().lstrip("+-") not in ("inf", "infinity", "nan"):
                raise table.wrong(
                    row,
                    f"{name} is {part!r:.80}, not a time",
                    f"correct it; or, if it says that the candidate failed, list it in [status] of "
                    f"the file of --columns, with column = {name!r}",
                )
            value = math.inf
        found.append(float(value))
    return found


def _result(knobs: Mapping[str, Any], rows: Sequence[_Ended]) -> ForeignResult:
    times = [time for row in rows for time in row.times]
    kind = OK if times else rows[0].kind
    return ForeignResult(
        knobs={name: value for name, value in knobs.items() if value is not None},
        kind=kind,
        time_us=median(times) if times else math.nan,
        reason="" if times else rows[0].reason,
        stage=stage_of(kind),
        runs=times,
        compile_s=math.nan,
        measure_s=math.nan,
        origin=UNIFORM,
    )
