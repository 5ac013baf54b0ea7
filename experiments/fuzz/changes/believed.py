"""Figures that do not follow from what is beside them: whoever tells them believes the file."""

from __future__ import annotations

import gzip
import json
from random import Random
from typing import Any

from ..traps import Traps
from .bombs import gzipped
from .edits import CannotEdit, Change, ChangedData
from .json import change_json
from .raw import ANY

_CLAIM = {"speedup": 3.0, "interval": [2.5, 3.5]}


def claim_in_results(rng: Random, data: bytes, _: Traps) -> ChangedData:
    """The finals of a bundle's results name a speedup that their times do not have."""
    lines = data.splitlines()
    verdict = json.loads(lines[-1])
    if not verdict.get("finals", {}).get("standings"):
        raise CannotEdit("there are no finals")
    first = verdict["finals"]["standings"][0]
    first |= _CLAIM | {"time_us": verdict["finals"]["baseline_us"] / 1.25}
    verdict["finals"]["noise_floor"] = 0.01
    verdict["winner"] = first["index"]
    lines[-1] = json.dumps(verdict).encode()
    what = "the winner's speedup is 3.00, its times are 1.25 apart"
    return ChangedData(b"\n".join(lines) + b"\n", what, refused=True)


def claim_in_result(rng: Random, data: bytes, _: Traps) -> ChangedData:
    """The result of a run names a speedup, or counts, that do not follow."""
    result: dict[str, Any] = json.loads(data)
    if "baseline_us" not in result:
        raise CannotEdit("nothing was measured")
    if rng.random() < 0.5:
        result |= {"speedup": 3.0, "speedup_ci": [2.5, 3.5], "noise_floor": 0.01}
        result |= {"best_us": result["baseline_us"] / 1.25, "spec": "spec.mlir", "winner": 1}
        what = "the speedup is 3.00, the times are 1.25 apart"
    else:
        result["best_us"] = -1.0
        what = "the best time is negative"
    return ChangedData(json.dumps(result).encode(), what, refused=True)


def change_gzipped(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    """What is in a gzip file is changed, or it is packed so that it is more than it seems."""
    inner = gzip.decompress(data)
    kind = rng.randrange(6)
    if kind == 0:
        return rng.choice(ANY)(rng, data, traps)
    if kind == 1:
        blocks, front = rng.choice([16, 64, 300]), rng.choice([b"", inner[:-1], b'{"results": ['])
        byte = rng.choice([b" ", b"[", b"1"])
        packed = gzipped(blocks, front, byte)
        return ChangedData(packed, f"{blocks * 16} MB of {byte!r} are packed")
    if kind == 2:
        return ChangedData(
            gzip.compress(gzip.compress(inner, mtime=0), mtime=0), "it is packed twice"
        )
    if kind == 3:
        return ChangedData(data * rng.choice([2, 50]), "it is there several times")
    changed = change_json(rng, inner, traps)
    return ChangedData(gzip.compress(changed.data, mtime=0), changed.what)


RESULTS: tuple[Change, ...] = (claim_in_results,)
RESULT: tuple[Change, ...] = (claim_in_result,)
