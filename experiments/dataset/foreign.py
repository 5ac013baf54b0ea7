"""Recordings of other people's kernels, of which nothing is known but knobs and times."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import pandas as pd

from ...benchmarks.measuring import COMPILE_FAILED, NOT_APPLIED, OK
from ...core import check_table_size, escape_undecodable
from ...search import DERIVED, PIPELINE
from .origins import ORIGIN, check_origins
from .provenance import ForeignKernel, Provenance
from .recording import COLUMNS, MEASURE_COLUMN, Recording

# `convolution_RTX_2080_Ti`: kernels are in lower case, devices are not.
_BOTH = re.compile(r"(?P<kernel>[a-z].*?)_(?P<device>[A-Z].*)")
_ENDING = re.compile(r"(\.parquet|(_T4|\.t4|\.ktt)?\.json(\.gz)?|\.csv(\.gz)?)$", re.IGNORECASE)
# What stands for no time, in the units of any file.
FAILED_TIME = 1e20


@dataclass(frozen=True)
class ForeignResult:
    """What became of one configuration.

    Attributes:
        kind, time_us, reason, stage, compile_s: as of an outcome; NaN for what is not known.
        runs: times of single runs, in any unit.
        measure_s: what all but compiling took.
        origin: how it came in, in a recording's words.
    """

    knobs: Mapping[str, Any]
    kind: str
    time_us: float
    reason: str
    stage: str
    runs: Sequence[float]
    compile_s: float
    measure_s: float
    origin: str


def merge_repeats(taken: Iterable[ForeignResult]) -> list[ForeignResult]:
    """One result for each configuration: the median of its times; it failed if it always did.

    A search comes back to what was good, which then would be several near-optimal candidates.
    """
    found: dict[str, list[ForeignResult]] = {}
    for one in taken:
        found.setdefault(_key(one.knobs), []).append(one)
    return [_merged(several) for several in found.values()]


def _key(knobs: Mapping[str, Any]) -> str:
    """Alike for 16 and 16.0, as two programs write it."""
    alike = {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in knobs.items()
    }
    return repr(sorted(alike.items()))


def _merged(several: Sequence[ForeignResult]) -> ForeignResult:
    ran = [one for one in several if one.kind == OK]
    if len(several) == 1 or not ran:
        return several[0]
    runs = [run for one in ran for run in one.runs]
    return replace(ran[0], time_us=median(one.time_us for one in ran), runs=runs)


def build_foreign_recording(
    kernel: ForeignKernel, device: str, taken: Sequence[ForeignResult], created_by: str, timing: str
) -> Recording:
    """A recording of somebody else's kernel, in the order of its file.

    Raises:
        TooLarge: so many knobs of so many candidates do not fit.
        ValueError: there is no such origin.
    """
    kernel = replace(kernel, name=escape_undecodable(kernel.name))
    device, created_by = map(escape_undecodable, (device, created_by))
    names = list(dict.fromkeys(name for t in taken for name in t.knobs))
    check_table_size(len(taken), len(names) + len(COLUMNS))
    columns = _columns_of(names)
    knobs = {columns[n]: _values([t.knobs.get(n) for t in taken]) for n in names}
    pipeline = knobs.pop(PIPELINE, pd.Series([""] * len(taken), dtype="string")).fillna("")
    told = {
        ORIGIN: [t.origin for t in taken],
        "kind": [t.kind for t in taken],
        "time_us": [t.time_us for t in taken],
        "baseline_us": math.nan,
        "relative": math.nan,
        "reason": [t.reason for t in taken],
        "stage": [t.stage for t in taken],
        "device": device,
        "executable": "",
        "same_as": pd.NA,
        "compile_s": [t.compile_s for t in taken],
        MEASURE_COLUMN: [t.measure_s for t in taken],
        "measurements": [max(1, len(t.runs)) if t.kind == OK else 0 for t in taken],
        "spread": [_spread(t.runs) if t.kind == OK else math.nan for t in taken],
    }
    frame = pd.DataFrame({"index": range(len(taken)), PIPELINE: pipeline, **knobs, **told})
    provenance = Provenance(
        problem=kernel,
        target=None,
        devices={device: device},
        compiler="",
        runtime="",
        seed=None,
        noise_floor=None,
        created_by=created_by,
        timing=timing,
    )
    check_origins(frame[ORIGIN])
    return Recording(frame.astype(COLUMNS), provenance)


def stage_of(kind: str) -> str:
    """Where a candidate failed, if no more is known; empty of one that ran."""
    return {OK: "", COMPILE_FAILED: "compile", NOT_APPLIED: "compile"}.get(kind, "run")


def recording_name(path: Path) -> str:
    """A recording's name: the file's, without what tells its format."""
    return escape_undecodable(_ENDING.sub("", path.name))


def kernel_and_device(path: Path) -> tuple[str, str]:
    """Kernel and device where a file does not tell them, from its name and its folder's.

    The community calls files `convolution_A4000_T4.json.gz` or
    `convolution_milo/A4000_T4.json.gz`. In the first form the kernel is taken to start in lower
    case and the device in upper case; all else is of the second.
    """
    if match := _BOTH.fullmatch(recording_name(path)):
        return match["kernel"], match["device"]
    return escape_undecodable(path.resolve().parent.name), recording_name(path)


def _columns_of(knobs: Sequence[str]) -> dict[str, str]:
    """Each knob's column: with underscores before it where that name is taken."""
    taken = COLUMNS.keys() - {PIPELINE} | {MEASURE_COLUMN}
    found: dict[str, str] = {}
    for knob in knobs:
        column = knob
        while column in taken or column.startswith(DERIVED) or (column != knob and column in knobs):
            column = f"_{column}"
        found[knob] = column
        taken.add(column)
    return found


def _values(values: list[Any]) -> pd.Series:
    """Numbers, flags, or else words; what is missing stays so."""
    there = [v for v in values if v is not None]
    if any(type(v) is int and abs(v) > sys.float_info.max for v in there):
        raise ValueError("a knob has a value beyond the largest float")
    if all(isinstance(v, bool) for v in there) or all(type(v) in (int, float) for v in there):
        return pd.Series(values)
    words = [v if v is None or isinstance(v, str) else json.dumps(v) for v in values]
    return pd.Series(words, dtype="string")


def _spread(runs: Sequence[float]) -> float:
    if len(runs) < 2:
        return 0.0
    low, middle, high = quantiles(runs, n=4, method="inclusive")
    return (high - low) / (middle or math.nan)
