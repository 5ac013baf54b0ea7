"""Changes of files of JSON lines: logs of outcomes, results, profiles."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from random import Random
from typing import Any

from ..traps import Traps
from .edits import CannotEdit, Change, ChangedData, pick, short, spot
from .json import change_json, trap_json


def change_a_line(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    return _in_a_line(rng, data, traps, change_json)


def trap_a_line(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    return _in_a_line(rng, data, traps, trap_json)


def double_a_line(rng: Random, data: bytes, _: Traps) -> ChangedData:
    found = data.splitlines(keepends=True)
    line, place = pick(rng, found), spot(rng, len(found) + 1)
    found.insert(place, line)
    return ChangedData(b"".join(found), "a line is there twice")


def remove_a_line(rng: Random, data: bytes, _: Traps) -> ChangedData:
    found = data.splitlines(keepends=True)
    place = spot(rng, len(found))
    return ChangedData(b"".join(found[:place] + found[place + 1 :]), f"line {place + 1} is missing")


def shuffle_lines(rng: Random, data: bytes, _: Traps) -> ChangedData:
    found = data.splitlines(keepends=True)
    rng.shuffle(found)
    return ChangedData(b"".join(found), "the lines are in another order")


def put_between(rng: Random, data: bytes, _: Traps) -> ChangedData:
    found = data.splitlines(keepends=True)
    line = rng.choice(
        [b"\n", b"null\n", b"[]\n", b"{}\n", b"\xff\xfe\n", b'{"index": 0\n', b"\0\n"]
    )
    found.insert(spot(rng, len(found) + 1), line)
    return ChangedData(b"".join(found), f"a line is {line!r}")


def repeat_all(rng: Random, data: bytes, _: Traps) -> ChangedData:
    times = rng.choice([2, 1_000, 20_000])
    return ChangedData(data * times, f"all lines are there {times} times")


def end_otherwise(rng: Random, data: bytes, _: Traps) -> ChangedData:
    ends = rng.choice([b"\r\n", b"\r", b"", b"\x0b", b"\x1e", "\u2028".encode()])
    return ChangedData(data.replace(b"\n", ends), f"lines end in {ends!r}")


ANY_LINES: tuple[Change, ...] = (
    change_a_line,
    change_a_line,
    change_a_line,
    trap_a_line,
    double_a_line,
    remove_a_line,
    shuffle_lines,
    put_between,
    repeat_all,
    end_otherwise,
)


def _in_a_line(rng: Random, data: bytes, traps: Traps, change: Change) -> ChangedData:
    found = data.splitlines()
    place = spot(rng, len(found))
    changed = change(rng, pick(rng, found), traps)
    # What makes JSON readable would make several lines of it.
    found[place] = changed.data.replace(b"\n", b" ")
    return ChangedData(b"\n".join(found) + b"\n", f"line {place + 1}: {changed.what}")


def not_an_outcome(rng: Random, data: bytes, _: Traps) -> ChangedData:
    """An outcome that no run can have: whoever goes on from it believes it."""
    records = _outcomes(data)
    place = pick(rng, list(records))
    record = records[place]
    name, value = rng.choice(_IMPOSSIBLE)
    if callable(value):
        value = value(record, len(records))
    lines = data.splitlines()
    record[name] = value
    lines[place] = json.dumps(record).encode()
    what = f"line {place + 1}: {name} is {short(value)}, which cannot be"
    return ChangedData(b"\n".join(lines) + b"\n", what, refused=True)


def another_for_an_index(rng: Random, data: bytes, _: Traps) -> ChangedData:
    """Two outcomes of one candidate, which differ."""
    records = _outcomes(data)
    place = pick(rng, list(records))
    again = {**records[place], "time_us": (records[place]["time_us"] or 9.0) / 8}
    lines = [*data.splitlines(), json.dumps(again).encode()]
    what = f"candidate {again['index']} has a second outcome"
    return ChangedData(b"\n".join(lines) + b"\n", what, refused=True)


IMPOSSIBLE: tuple[Change, ...] = (not_an_outcome, not_an_outcome, another_for_an_index)


def _outcomes(data: bytes) -> dict[int, dict[str, Any]]:
    """The outcomes that have a time, by their line."""
    found = {}
    for place, line in enumerate(data.splitlines()):
        record = json.loads(line)
        if "index" in record and record.get("time_us"):
            found[place] = record
    if not found:
        raise CannotEdit("nothing was measured")
    return found


_Value = Callable[[dict[str, Any], int], Any]
_IMPOSSIBLE: tuple[tuple[str, Any | _Value], ...] = (
    ("time_us", -3.0),
    ("time_us", math.nan),
    ("time_us", math.inf),
    ("time_us", [3.0]),
    ("time_us", lambda record, _: str(record["time_us"])),
    ("time_us", None),
    ("baseline_us", 0.0),
    ("baseline_us", -1),
    ("baseline_us", "x"),
    ("index", 1_000_000),
    ("index", -1),
    ("device", "cuda://7"),
    ("device", ""),
    ("same_as", 999),
    ("same_as", "0"),
    ("kind", "fine"),
    ("executable", 7),
)
