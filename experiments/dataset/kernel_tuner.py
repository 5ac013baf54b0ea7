"""Cache files of Kernel Tuner (https://github.com/KernelTuner/kernel_tuner), as T4 results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core import parse_json
from .t4 import MILLISECONDS, TIME_MEASUREMENT

# By the names of T4.
_TIMES = {
    "compilation": "compile_time",
    "benchmark": "benchmark_time",
    "validation": "verification_time",
    "framework": "framework_time",
    "runtimes": "times",
}


def to_t4(cache: Mapping[str, Any]) -> dict[str, Any]:
    """T4 results that say what the content of a cache file says.

    Raises:
        TypeError, KeyError, AttributeError: it is something else.
    """
    metadata = {key: cache.get(key) for key in ("kernel_name", "device_name", "problem_size")}
    objective = cache.get("objective", TIME_MEASUREMENT)
    return {
        "metadata": {**metadata, "timeunit": MILLISECONDS, "created_by": "Kernel Tuner"},
        "results": [
            _result(entry, cache["tune_params_keys"], objective)
            for entry in cache["cache"].values()
        ],
    }


def parse_unclosed_cache(data: bytes) -> Any:
    """Reads a cache that was not closed: Kernel Tuner appends a line per entry, braces last.

    Raises:
        ValueError: it cannot be read, also not without its last line.
    """
    whole = data.rstrip()
    last = whole.rpartition(b"\n")[0]
    for kept, braces in ((whole, b"}"), (whole, b"}\n}"), (last, b"}\n}")):
        try:
            return parse_json(kept.rstrip().removesuffix(b",") + braces)
        except ValueError as error:
            failure = error
    raise failure


def _result(entry: Mapping[str, Any], knobs: list[str], objective: str) -> dict[str, Any]:
    # How one failed is said in the place of its time; since version 1.5, by a key of its own.
    value = entry.get(TIME_MEASUREMENT, entry.get("__error__"))
    return {
        "configuration": {k: entry[k] for k in knobs if k in entry},
        "times": {name: entry.get(key) for name, key in _TIMES.items()},
        "invalidity": "correct",
        "correctness": 1,
        "measurements": [] if value is None else [{"name": TIME_MEASUREMENT, "value": value}],
        "objectives": [objective],
    }
