"""Changes of one place in JSON: its type, its value, its depth, its size."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from random import Random
from typing import Any

from ....search import target_flags
from ..traps import Traps
from .edits import CannotEdit, ChangedData, pick, short

# Text that stands for itself in what is written, where `json.dumps` would recurse or be slow.
_RAW = "@@raw@@"
# What is fine elsewhere: other devices, targets, versions, rankers, dispatches.
_NAMES = (
    "gfx942", "sm_80", "znver4", "rtx4090", "cuda", "cuda://0", "hip://0", "local-sync", "vulkan",
    "local-task on a chip", "3.12.0", "4.0.0", "heuristic", "adaptive", "tpe", "f16", "main",
    "linalg.conv_2d_nhwc_hwcf", "convolution", "attention", "DoubleTilingExpert", "default",
)  # fmt: skip
_DEPTHS = (300, 3_000, 100_000, 2_000_000)
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2.5, -0.0, 1e30, -1e30, 1e-30, 10**30, -(10**30), 2**31, 2**63,
    math.nan, math.inf, -math.inf, "", "0", "nan", "x", "\0", "\ud800", "a\nb", "../..",
    "/dev/zero", [], [[]], [None], {}, {"": {}}, {"x": []},
)  # fmt: skip

Path = tuple[Any, ...]


def change_json(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    """Changes one place; most changes are small ones."""
    change = rng.choice(_CHANGES)
    text, what = change(rng, _parsed(data), traps)
    return ChangedData(text.encode(errors="surrogatepass"), what)


def trap_json(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    """Puts a canary where flags stand, or in the place of any other text."""
    text, what = _set_trap(rng, _parsed(data), traps)
    return ChangedData(text.encode(), what)


def places(value: Any, path: Path = ()) -> list[Path]:
    """The paths of all values in a document, it itself first."""
    found, waiting = [], [(path, value)]
    while waiting:
        where, there = waiting.pop()
        found.append(where)
        items = (
            there.items() if isinstance(there, dict)
            else enumerate(there) if isinstance(there, list) else ()
        )  # fmt: skip
        waiting += [((*where, key), one) for key, one in items]
    return found


def at(document: Any, path: Path) -> Any:
    for key in path:
        document = document[key]
    return document


def put(document: Any, path: Path, value: Any) -> Any:
    """The document with another value at a path."""
    if not path:
        return value
    at(document, path[:-1])[path[-1]] = value
    return document


def dumps(document: Any, raw: str = "") -> str:
    """The text of a document, with other text for the marked place."""
    return json.dumps(document, indent=1).replace(f'"{_RAW}"', raw)


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError as error:
        raise CannotEdit(str(error)) from error


def _somewhere(rng: Random, document: Any) -> Path:
    """A path; those that are near the root, where options are, are as likely as the many below."""
    found = sorted(places(document), key=lambda path: (len(path), str(path)))
    near = [path for path in found if len(path) <= 2]
    return pick(rng, near if rng.random() < 0.5 else found)


def _name(path: Path) -> str:
    return ".".join(map(str, path)) or "all of it"


def _set_value(rng: Random, document: Any, _: Traps) -> tuple[str, str]:
    path, value = _somewhere(rng, document), rng.choice(VALUES)
    return dumps(put(document, path, value)), f"{_name(path)} is {short(value)}"


def _set_number(rng: Random, document: Any, _: Traps) -> tuple[str, str]:
    numbers = [p for p in places(document) if type(at(document, p)) in (int, float)]
    path = pick(rng, sorted(numbers, key=str))
    was = at(document, path)
    value = rng.choice(
        [-was, was * 1000, was + 1, str(was), [was], None, float(was), math.nan, 10**18, -1, 0]
    )
    return dumps(put(document, path, value)), f"{_name(path)} is {short(value)}, was {short(was)}"


def _set_name(rng: Random, document: Any, _: Traps) -> tuple[str, str]:
    texts = sorted((p for p in places(document) if isinstance(at(document, p), str)), key=str)
    path, value = pick(rng, texts), rng.choice(_NAMES)
    return dumps(put(document, path, value)), f"{_name(path)} is {value!r}"


def _remove(rng: Random, document: Any, _: Traps) -> tuple[str, str]:
    path = _somewhere(rng, document)
    if not path:
        raise CannotEdit("nothing would be left")
    del at(document, path[:-1])[path[-1]]
    return dumps(document), f"{_name(path)} is missing"


def _add(rng: Random, document: Any, _: Traps) -> tuple[str, str]:
    objects = [p for p in places(document) if isinstance(at(document, p), dict)]
    path = pick(rng, sorted(objects, key=str))
    key = rng.choice(["x", "", "class", "__class__", "self", "flags", "out", "\ud800"])
    value = rng.choice(VALUES)
    at(document, path)[key] = value
    return dumps(document), f"{_name(path)} has {key!r}, too: {short(value)}"


def _key_twice(rng: Random, document: Any, _: Traps) -> tuple[str, str]:
    objects = [p for p in places(document) if at(document, p) and isinstance(at(document, p), dict)]
    path = pick(rng, sorted(objects, key=str))
    there = at(document, path)
    key, value = pick(rng, list(there)), rng.choice(VALUES)
    again = f"{json.dumps(there)[:-1]}, {json.dumps(key)}: {json.dumps(value)}}}"
    what = f"{_name((*path, key))} is there twice, then as {short(value)}"
    return dumps(put(document, path, _RAW), again), what


def _wrap(rng: Random, document: Any, _: Traps) -> tuple[str, str]:
    path = _somewhere(rng, document)
    was = at(document, path)
    value = rng.choice([[was], [was, was], {"x": was}, json.dumps(was)])
    return dumps(put(document, path, value)), f"{_name(path)} is within {type(value).__name__}"


def _swap(rng: Random, document: Any, _: Traps) -> tuple[str, str]:
    first, second = _somewhere(rng, document), _somewhere(rng, document)
    value = json.loads(json.dumps(at(document, second)))
    return dumps(put(document, first, value)), f"{_name(first)} is what {_name(second)} is"


def _deepen(rng: Random, document: Any, _: Traps) -> tuple[str, str]:
    path, depth = _somewhere(rng, document), rng.choice(_DEPTHS)
    first, last = rng.choice([("[", "]"), ('{"x":', "}")])
    closed = last * depth if rng.random() < 0.8 else ""
    text = first * depth + "0" + closed
    return dumps(put(document, path, _RAW), text), f"{_name(path)} is {depth} deep"


def _enlarge(rng: Random, document: Any, _: Traps) -> tuple[str, str]:
    path = _somewhere(rng, document)
    text, what = rng.choice(
        [
            ('"' + "x" * 20_000_000 + '"', "a text of 20 MB"),
            ("1" * 5_000, "a number of 5,000 digits"),
            ("1" * 1_000_000, "a number of a million digits"),
            ("[" + "0," * 5_000_000 + "0]", "five million zeros"),
            ("{" + ",".join(f'"k{i}":0' for i in range(300_000)) + "}", "300,000 keys"),
            ("[" + "[]," * 3_000_000 + "0]", "three million empty lists"),
        ]
    )
    return dumps(put(document, path, _RAW), text), f"{_name(path)} is {what}"


def _repeat(rng: Random, document: Any, _: Traps) -> tuple[str, str]:
    lists = [p for p in places(document) if at(document, p) and isinstance(at(document, p), list)]
    path = pick(rng, sorted(lists, key=str))
    was, times = at(document, path), rng.choice([2, 100, 20_000])
    return dumps(put(document, path, was * times)), f"{_name(path)} is there {times} times"


def _set_trap(rng: Random, document: Any, traps: Traps) -> tuple[str, str]:
    texts = sorted((p for p in places(document) if isinstance(at(document, p), str)), key=str)
    targets = [p for p in texts if p[-2:] == ("target", "name")]
    if targets and rng.random() < 0.4:
        # Older files have flags in the place of a target's name.
        holder, flag = pick(rng, targets)[:-1], traps.flag(rng)
        target = at(document, holder)
        target["flags"] = [*target_flags(target.pop("name")), flag]
        return dumps(document), f"the flags of {_name(holder)} end with {short(flag)}"
    maps = [p for p in texts if at(document, p).startswith("affine_map")]
    lists = [p for p in places(document) if isinstance(at(document, p), list)]
    if lists and rng.random() < 0.15:
        path, word = pick(rng, sorted(lists, key=str)), traps.word(rng)
        at(document, path).append(word)
        return dumps(document), f"{_name(path)} ends with {short(word)}"
    if maps and rng.random() < 0.2:
        path = maps[-1]
        word = traps.break_out(rng, at(document, path))
    else:
        empty = [p for p in places(document) if at(document, p) is None]
        path, word = pick(rng, sorted([*texts, *empty], key=str)), traps.word(rng)
    return dumps(put(document, path, word)), f"{_name(path)} is {short(word)}"


_CHANGES: tuple[Callable[[Random, Any, Traps], tuple[str, str]], ...] = (
    _set_value,
    _set_value,
    _set_value,
    _set_number,
    _set_number,
    _set_name,
    _set_name,
    _remove,
    _remove,
    _add,
    _add,
    _key_twice,
    _wrap,
    _swap,
    _deepen,
    _enlarge,
    _repeat,
    _set_trap,
    _set_trap,
    _set_trap,
)
