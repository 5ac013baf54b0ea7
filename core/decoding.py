"""Decodes JSON into values of declared types: tuples from lists, dataclasses from objects.

Files are edited, cut and made by others; so every field is checked against its declared type, all
the way down, and what is unknown is refused.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from pathlib import Path
from reprlib import repr  # values of megabytes are not told in full
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import InputError, first_line

T = TypeVar("T")

# What is raised where files that were edited hold what their readers let pass.
_DAMAGE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)

# Whole numbers up to here are exact as floats, too, and fit wherever numbers go.
MAX_EXACT_INT = 1 << 53


def decode(kind: type[T], data: Any, where: str = "") -> T:
    """The inverse of `dataclasses.asdict`, also after a round trip through JSON.

    Args:
        kind: a dataclass, whose fields are numbers, texts, paths, dataclasses, tuples, mappings and
            alternatives of these.
        where: what to call it in messages.

    Raises:
        ValueError: naming the first field that is missing, unknown or of another type.
    """
    found: T = _decode(kind, data, where)
    return found


@contextmanager
def refusing_damage(what: str, remedy: str) -> Iterator[None]:
    """Within it, data that cannot be used is refused: `what` says what it is not.

    Raises:
        InputError: in place of what is raised where data is not what was written, with the reason.
    """
    try:
        yield
    except _DAMAGE as error:
        raise InputError(f"{what}: {describe_error(error)}", remedy) from error


def describe_error(error: Exception) -> str:
    """One line for an exception that was raised while data was decoded."""
    said = first_line(error)
    if isinstance(error, KeyError):
        return f"{said} is missing"
    if isinstance(error, TypeError | AttributeError):
        return "a value is of another type than was written"
    return said if isinstance(error, ValueError) else f"{type(error).__name__}: {said}"


def _decode(kind: Any, data: Any, where: str) -> Any:
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _one_of(parts, data, where)
    if origin is tuple:
        return tuple(_items(parts, data, where))
    if origin in (dict, Mapping):
        if not isinstance(data, dict):
            raise _misfit(where, data, "names and values")
        key, value = parts
        return {
            _decode(key, name, where): _decode(value, item, f"{where}[{name!r}]")
            for name, item in data.items()
        }
    if is_dataclass(kind):
        return _dataclass(kind, data, where)
    return _plain(kind, data, where)


def _one_of(kinds: tuple[Any, ...], data: Any, where: str) -> Any:
    if data is None and NoneType in kinds:
        return None
    failure = None
    for kind in kinds:
        if kind is not NoneType:
            try:
                return _decode(kind, data, where)
            except ValueError as error:
                failure = failure or error
    assert failure is not None
    raise failure


def _items(kinds: tuple[Any, ...], data: Any, where: str) -> Iterator[Any]:
    if not isinstance(data, list | tuple):
        raise _misfit(where, data, "a list")
    if kinds[-1] is ...:
        kinds = kinds[:1] * len(data)
    if len(data) != len(kinds):
        raise _misfit(where, data, f"{len(kinds)} values")
    for at, (kind, item) in enumerate(zip(kinds, data, strict=True)):
        yield _decode(kind, item, f"{where}[{at}]")


def _dataclass(kind: Any, data: Any, where: str) -> Any:
    if type(data) is kind:
        return data
    if not isinstance(data, dict):
        raise _misfit(where, data, "names and values")
    hints, needed = _fields(kind)
    prefix = f"{where}." if where else ""
    for name in data:
        if name not in hints:
            raise ValueError(f"there is no {prefix}{name}")
    for name in needed:
        if name not in data:
            raise ValueError(f"{prefix}{name} is missing")
    return kind(**{n: _decode(hints[n], item, f"{prefix}{n}") for n, item in data.items()})


@cache
def _fields(kind: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The types of a dataclass's fields by name, and those that have no default."""
    hints = get_type_hints(kind)
    given = [f for f in fields(kind) if f.init]
    needed = (f.name for f in given if f.default is MISSING and f.default_factory is MISSING)
    return {f.name: hints[f.name] for f in given}, tuple(needed)


def _plain(kind: Any, data: Any, where: str) -> Any:
    if kind is Any:
        return data
    if kind is Path and isinstance(data, str | Path) and "\0" not in str(data):
        os.fsencode(data)  # raises a ValueError for what names no file
        return Path(data)
    # Neither NaN, nor infinity, nor a whole number that is more than any float.
    if kind is float and type(data) in (int, float) and abs(data) <= sys.float_info.max:
        return data
    if kind is int and type(data) is int:
        if abs(data) > MAX_EXACT_INT:
            raise _misfit(where, data, f"at most {MAX_EXACT_INT}")
        return data
    if kind is bool and type(data) is bool:
        return data
    if kind is str and type(data) is str:
        data.encode()  # raises a ValueError for halves of a character, which JSON can hold
        return data
    raise _misfit(where, data, _WORDS.get(kind, str(kind)))


_WORDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Path: "a path",
}


def _misfit(where: str, found: Any, expected: str) -> ValueError:
    return ValueError(f"{where or 'it'} is {repr(found)}, not {expected}")
