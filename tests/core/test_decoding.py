"""Values from JSON: what fits comes back, and what does not is named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from frontrunner.core import InputError
from frontrunner.core.decoding import decode, refusing_damage


@dataclass(frozen=True)
class Inner:
    name: str
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Outer:
    inner: Inner
    share: float
    pair: tuple[float, float]
    path: Path
    on: bool = False
    most: int | None = None
    others: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    either: Inner | str = ""


VALUE = Outer(Inner("a", (1, 2)), 0.5, (1, 2.5), Path("x/y"), True, 3, {"k": (1,)}, Inner("b"))


def plain(**changes: Any) -> dict[str, Any]:
    return {**json.loads(json.dumps(asdict(VALUE), default=str)), **changes}


def test_there_and_back() -> None:
    assert decode(Outer, plain()) == VALUE
    short = {"inner": {"name": "a"}, "share": 1, "pair": [1, 2], "path": "p"}
    assert decode(Outer, short) == Outer(Inner("a"), 1, (1, 2), Path("p"))
    assert decode(Outer, plain(either="text")).either == "text"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"more": 1}, "there is no more"),
        ({"inner": {}}, "inner.name is missing"),
        ({"inner": [1]}, r"inner is \[1\], not names and values"),
        ({"inner": {"name": 5}}, "inner.name is 5, not a text"),
        ({"inner": {"name": "a", "sizes": [1, "b"]}}, r"inner.sizes\[1\] is 'b', not a whole"),
        ({"inner": {"name": "a", "sizes": 5}}, "inner.sizes is 5, not a list"),
        ({"share": float("nan")}, "share is nan, not a number"),
        ({"share": True}, "share is True, not a number"),
        ({"share": None}, "share is None, not a number"),
        ({"pair": [1]}, r"pair is \[1\], not 2 values"),
        ({"path": 5}, "path is 5, not a path"),
        ({"path": "a\0b"}, "path is .*, not a path"),
        ({"on": 1}, "on is 1, not true or false"),
        ({"most": True}, "most is True, not a whole number"),
        ({"most": 10**30}, r"most is 1000\d*\.*\d*, not at most"),
        ({"others": {"k": [None]}}, r"others\['k'\]\[0\] is None"),
        ({"others": []}, r"others is \[\], not names and values"),
        ({"either": 5}, "either is 5, not names and values"),
    ],
)
def test_the_first_misfit_is_named(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        decode(Outer, plain(**changes))


def test_what_is_told_is_short() -> None:
    with pytest.raises(ValueError, match="name is") as refused:
        decode(Inner, {"name": list(range(10**6))})
    assert len(str(refused.value)) < 200


def test_a_whole_number_that_no_float_is_is_refused() -> None:
    assert decode(float, 10**300) == 10**300
    for data in (10**400, -(10**400), float("inf"), float("nan")):
        with pytest.raises(ValueError, match="a number"):
            decode(float, data)


@pytest.mark.parametrize("changes", [{"path": "\ud800"}, {"inner": {"name": "\ud800"}}])
def test_halves_of_characters_are_refused(changes: dict[str, Any]) -> None:
    """JSON can hold them, and no file can."""
    with (
        pytest.raises(InputError, match=r"it is damaged: .*surrogates not allowed"),
        refusing_damage("it is damaged", "write it again"),
    ):
        decode(Outer, plain(**changes))
    # Names of files that are in no encoding are names.
    assert decode(Path, "\udcff") == Path("\udcff")
