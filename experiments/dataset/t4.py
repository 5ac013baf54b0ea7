"""T4 results, the auto-tuning community's format (https://github.com/odgaard/TuningSchema)."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ...benchmarks.measuring import (
    COMPILE_FAILED,
    CRASHED,
    KILLED,
    NOT_APPLIED,
    OK,
    OUTCOME_KINDS,
    TIMEOUT,
    WRONG_RESULT,
)
from ...core import InputError, write_atomically
from ...search import PIPELINE, knob_value
from .foreign import (
    FAILED_TIME,
    ForeignResult,
    build_foreign_recording,
    kernel_and_device,
    merge_repeats,
    stage_of,
)
from .knob_columns import plain_value
from .origins import ORIGIN, UNIFORM
from .provenance import ForeignKernel
from .recording import MEASURE_COLUMN, Recording

VERSION = "1.0.0"
KTT = "KTT"
TIME_MEASUREMENT = "time"
# How a configuration failed, in the format's words and in ours.
_KINDS = {
    "correct": OK,
    "compile": COMPILE_FAILED,
    "constraints": NOT_APPLIED,
    "runtime": CRASHED,
    "timeout": TIMEOUT,
    "correctness": WRONG_RESULT,
}
# The format has no word for what was killed; ours stands beside it.
INVALIDITY = {kind: word for word, kind in _KINDS.items()} | {KILLED: "runtime"}
# What Kernel Tuner has in the place of a failed one's time, and what it had there once.
ERRORS = {
    COMPILE_FAILED: "CompilationFailedConfig",
    NOT_APPLIED: "InvalidConfig",
    CRASHED: "RuntimeFailedConfig",
}

# The community's spelling; its tools take this unit for granted.
MILLISECONDS = "miliseconds"
_SECONDS = {
    **dict.fromkeys(("", "ms", MILLISECONDS, "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "µs", "microseconds"), 1e-6),
    **dict.fromkeys(("ns", "nanoseconds"), 1e-9),
    **dict.fromkeys(("s", "seconds"), 1.0),
}


def read_t4(data: Mapping[str, Any], path: Path) -> Recording:
    """The recording in T4 results.

    The format has no place for the names of kernel and device. They are taken from the metadata if
    it has `kernel_name` and `device_name`, else from the names of file and folder. The time is the
    measurement `time`, whatever the objective; what measuring cost is `benchmark` where that is
    given, else the sum of the runs, plus validation and the framework's own time. What a search
    took several times is one candidate (`merge_repeats`). Unless a file of ours says otherwise, all
    is taken for a uniform sample: most files hold the whole space.

    Raises:
        InputError: there are no times in it.
        ValueError, TypeError, KeyError, AttributeError, OverflowError: it is something else.
    """
    metadata = data.get("metadata") or {}
    results = data["results"]
    author = metadata.get("autotuner")
    if author == KTT:  # it writes all values as texts
        results = [{**r, "configuration": _plain(r["configuration"])} for r in results]
    told = [{m["name"]: m for m in r.get("measurements", ())} for r in results]
    if results and not any(TIME_MEASUREMENT in t for t in told):
        raise InputError(
            f"{path} has no times, its objectives are {results[0].get('objectives')}",
            "only what takes time can be ranked here",
        )
    unit = metadata.get("timeunit", "")
    kernel, device = kernel_and_device(path)
    return build_foreign_recording(
        ForeignKernel(
            str(metadata.get("kernel_name") or kernel), _size(metadata.get("problem_size"))
        ),
        str(metadata.get("device_name") or metadata.get("device") or device),
        merge_repeats(
            _taken(r, t.get(TIME_MEASUREMENT, {}), unit) for r, t in zip(results, told, strict=True)
        ),
        str(metadata.get("created_by") or author or f"T4 {data.get('schema_version', '')}"),
        f"the measurement {TIME_MEASUREMENT!r} of the file",
    )


def write_t4(recording: Recording, path: Path) -> None:
    """Writes T4 results, whole or not at all.

    A recording keeps one time per candidate, and so does the file. What the format has no word for
    stands beside what it knows: provenance, how a candidate came in, and how it failed.

    Raises:
        WorkError: it cannot be written.
    """
    provenance = recording.provenance
    rows = recording.frame.assign(**{MEASURE_COLUMN: recording.measure_s}).to_dict("records")
    knobs = [*recording.knobs, PIPELINE]
    content = {
        "metadata": {
            "timeunit": MILLISECONDS,
            "kernel_name": provenance.problem.label,
            "device_name": provenance.device,
            "created_by": provenance.created_by,
            "provenance": json.loads(provenance.to_json()),
        },
        "results": [_result(row, knobs) for row in rows],
        "schema_version": VERSION,
    }
    write_atomically(path, json.dumps(content, indent=1, allow_nan=False).encode())


def _taken(result: Mapping[str, Any], measured: Mapping[str, Any], unit: str) -> ForeignResult:
    kind = result.get("kind", _KINDS[result["invalidity"]])
    if kind not in OUTCOME_KINDS:
        raise ValueError(f"there is no outcome {kind!r}")
    if kind == OK and not result["correctness"]:
        kind = WRONG_RESULT
    kind, time, reason = _time(measured.get("value"), kind)
    times, second = result["times"], _second(unit)
    compilation = times.get("compilation", times.get("compilation_time"))
    runs = times.get("runtimes") or ()
    measuring = times.get("benchmark")
    if measuring is None:
        measuring = sum(runs) if runs or kind != OK else math.nan
    others = sum(times.get(name) or 0.0 for name in ("validation", "framework"))
    return ForeignResult(
        knobs=result["configuration"],
        kind=kind,
        time_us=time * _second(measured.get("unit") or unit) * 1e6,
        reason=result.get("reason", reason),
        stage=result.get("stage", stage_of(kind)),
        runs=runs,
        compile_s=_cost("compiling", math.nan if compilation is None else compilation * second),
        measure_s=_cost("measuring", (measuring + others) * second),
        origin=result.get(ORIGIN, UNIFORM),
    )


def _cost(what: str, seconds: float) -> float:
    """The seconds that something took, which may not be known."""
    if seconds < 0 or math.isinf(seconds):
        raise ValueError(f"{what} takes {seconds} s")
    return seconds


def _plain(configuration: Mapping[str, Any]) -> dict[str, Any]:
    values = configuration.items()
    return {name: plain_value(v) if isinstance(v, str) else v for name, v in values}


def _time(value: object, kind: str) -> tuple[str, float, str]:
    """Kind, time and reason, from what stands in the place of a time."""
    if isinstance(value, str):
        named = {error: failed for failed, error in ERRORS.items()}.get(value, CRASHED)
        return (named if kind == OK else kind), math.nan, value
    if kind != OK:
        return kind, math.nan, kind
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"a time must be a number or an error's name, got {value!r}"[:100])
    if not 0 < value < FAILED_TIME:
        return CRASHED, math.nan, f"its time is {value}"
    return OK, value, ""


def _second(unit: str) -> float:
    if unit not in _SECONDS:
        raise ValueError(f"there is no unit of time {unit!r}")
    return _SECONDS[unit]


def _size(value: object) -> tuple[int, ...]:
    """A number or a list of them; empty where it is anything else."""
    listed: list[Any] = value if isinstance(value, list) else [value]
    return tuple(listed) if all(type(v) is int for v in listed) else ()


def _result(row: Mapping[Hashable, Any], knobs: list[str]) -> dict[str, Any]:
    kind, ok = row["kind"], row["kind"] == OK
    costs_ms = {"compilation": row["compile_s"] * 1e3, "benchmark": row[MEASURE_COLUMN] * 1e3}
    time_ms = row["time_us"] / 1e3
    value = time_ms if ok else ERRORS.get(kind, ERRORS[CRASHED])
    in_compiler = kind in (CRASHED, KILLED) and row["stage"] == "compile"
    return {
        "configuration": {k: knob_value(row[k]) for k in knobs if not pd.isna(row[k])},
        "times": {
            **{name: ms for name, ms in costs_ms.items() if not math.isnan(ms)},
            "framework": 0,
            "search_algorithm": 0,
            "validation": 0,
            "runtimes": [time_ms] if ok else [],
        },
        "invalidity": INVALIDITY[COMPILE_FAILED if in_compiler else kind],
        "correctness": int(ok),
        "measurements": [{"name": TIME_MEASUREMENT, "value": value, "unit": MILLISECONDS}],
        "objectives": [TIME_MEASUREMENT],
        ORIGIN: row[ORIGIN],
        **({} if ok else {"kind": kind, "stage": row["stage"], "reason": row["reason"]}),
    }
