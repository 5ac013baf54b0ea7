"""Results of KTT in JSON (https://github.com/HiPerCoRe/KTT), as T4 results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .t4 import TIME_MEASUREMENT

RESULTS = "Results"
# In the words of T4; what timed out counts as a failed computation there.
_INVALIDITY = {
    "Ok": "correct",
    "ComputationFailed": "runtime",
    "ValidationFailed": "correctness",
    "CompilationFailed": "compile",
    "DeviceLimitsExceeded": "runtime",
}
_TIMES = {
    "compilation": "CompilationOverhead",
    "validation": "ValidationOverhead",
    "data": "DataMovementOverhead",
    "profiling": "ProfilingOverhead",
}


def ktt_to_t4(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """T4 results that say what the content of a file says, one for each kernel.

    KTT has an entry for each time that it ran a candidate, and so have these: whoever reads them
    takes repeats together.

    Raises:
        TypeError, KeyError, AttributeError: it is something else.
    """
    about = content["Metadata"]
    kernels: dict[str, list[dict[str, Any]]] = {}
    for entry in content[RESULTS]:
        kernels.setdefault(str(entry["KernelName"]), []).append(_result(entry))
    return [
        {
            "metadata": {
                "kernel_name": kernel,
                "device_name": about["Device"],
                "timeunit": about["TimeUnit"].lower(),
                "created_by": f"KTT {about.get('KttVersion', '')}".strip(),
            },
            "results": results,
        }
        for kernel, results in kernels.items()
    ]


def _result(entry: Mapping[str, Any]) -> dict[str, Any]:
    knobs = {p["Name"]: p["Value"] for p in entry["Configuration"]}
    kind, time = _INVALIDITY[entry["Status"]], entry["TotalDuration"]
    ran = kind == "correct"
    costs = {name: entry.get(key) or 0.0 for name, key in _TIMES.items()}
    return {
        "configuration": knobs,
        "times": {
            "compilation": costs["compilation"],
            "validation": costs["validation"],
            "framework": costs["data"] + costs["profiling"],
            "runtimes": [time] if ran else [],
        },
        "invalidity": kind,
        "correctness": int(ran),
        "measurements": [{"name": TIME_MEASUREMENT, "value": time if ran else 0.0}],
        "objectives": [TIME_MEASUREMENT],
        **({} if ran else {"reason": str(entry["Status"])}),
    }
