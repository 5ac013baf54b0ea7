"""Results of KTT in JSON (https://github.com/HiPerCoRe/KTT), as T4 results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from statistics import median
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

    KTT has an entry for each time that it ran a candidate. They are taken together: the time is
    the median, and a candidate failed if it always did.

    Raises:
        TypeError, KeyError, AttributeError: it is something else.
    """
    about = content["Metadata"]
    kernels: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
    for entry in content[RESULTS]:
        candidate = json.dumps({p["Name"]: p["Value"] for p in entry["Configuration"]})
        runs = kernels.setdefault(str(entry["KernelName"]), {})
        runs.setdefault(candidate, []).append(entry)
    return [
        {
            "metadata": {
                "kernel_name": kernel,
                "device_name": about["Device"],
                "timeunit": about["TimeUnit"].lower(),
                "created_by": f"KTT {about.get('KttVersion', '')}".strip(),
            },
            "results": [_result(json.loads(c), runs) for c, runs in candidates.items()],
        }
        for kernel, candidates in kernels.items()
    ]


def _result(knobs: dict[str, Any], entries: list[Mapping[str, Any]]) -> dict[str, Any]:
    kinds = [_INVALIDITY[entry["Status"]] for entry in entries]
    ran = [e["TotalDuration"] for e, kind in zip(entries, kinds, strict=True) if kind == "correct"]
    first = entries[0]
    costs = {name: first.get(key) or 0.0 for name, key in _TIMES.items()}
    return {
        "configuration": knobs,
        "times": {
            "compilation": costs["compilation"],
            "validation": costs["validation"],
            "framework": costs["data"] + costs["profiling"],
            "runtimes": ran,
        },
        "invalidity": "correct" if ran else kinds[0],
        "correctness": int(bool(ran)),
        "measurements": [{"name": TIME_MEASUREMENT, "value": median(ran) if ran else 0.0}],
        "objectives": [TIME_MEASUREMENT],
        **({} if ran else {"reason": str(first["Status"])}),
    }
