"""Parameters of rankers, as they are typed on a command line."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...core import InputError
from ...models import ranker_class


def parse_parameters(name: str, settings: Sequence[str]) -> dict[str, Any]:
    """The values of `name=value`, of the types that the parameters' defaults have.

    Raises:
        InputError: the ranker has no such parameter, or it has to be of another type.
    """
    signature = inspect.signature(ranker_class(name)).parameters
    defaults = {p.name: p.default for p in signature.values()}
    found: dict[str, Any] = {}
    for text in settings:
        key, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"{text!r} sets nothing", "give NAME=VALUE, such as min_leaf=20")
        if key not in defaults:
            known = ", ".join(f"{k}={v}" for k, v in defaults.items())
            raise InputError(
                f"ranker {name!r} has no parameter {key!r}",
                f"its parameters and their defaults: {known or 'none'}",
            )
        if key in found:
            raise InputError(f"{key} is set twice", "set it once")
        read, kind = _READERS.get(type(defaults[key]), (json.loads, "JSON"))
        try:
            found[key] = read(value)
        except ValueError:
            raise InputError(
                f"{key} of ranker {name!r} has to be {kind}, got {value!r}",
                f"its default is {defaults[key]}",
            ) from None
    return found


def write_settings(params: Mapping[str, Any]) -> list[str]:
    """The inverse of `parse_parameters`."""
    plain = (int, float, str)
    return [
        f"{name}={value if type(value) in plain else json.dumps(value, default=str)}"
        for name, value in params.items()
    ]


def _flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError
    return text == "true"


def _number(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError
    return value


_READERS: Mapping[type, tuple[Callable[[str], Any], str]] = {
    bool: (_flag, "true or false"),
    int: (int, "a whole number"),
    float: (_number, "a number"),
    str: (str, "a word"),
}
