"""What other packages bring, by entry points: found in every process, children among them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import lru_cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import Any, Protocol, TypeVar

from .errors import InputError


class Named(Protocol):
    """What has a name by which others are told apart from it."""

    @property
    def name(self) -> str: ...


Value = TypeVar("Value", bound=Named)


def load_named_values(
    group: str, kind: type[Value], shown_as: str, built_in: Iterable[str]
) -> list[Value]:
    """The values that an entry-point group brings, each with a name of its own.

    Where one names a class, an instance is made with no arguments.

    Args:
        shown_as: where authors of plug-ins find the class.
        built_in: names that are taken.

    Raises:
        InputError: one cannot be imported, is something else, or has a name that is taken.
    """
    what, taken = kind.__name__.lower(), set(built_in)
    found = []
    for entry in entries_of(group):
        value = load_plug_in(entry, what)
        value = _make(entry, what, value) if isinstance(value, type) else value
        if not isinstance(value, kind) or value.name in taken:
            raise InputError(
                f"the {what} {entry.name!r} of {brought_by(entry)} is not a {shown_as} with a name "
                f"of its own: {value!r:.200}",
                f"uninstall {brought_by(entry)}",
            )
        taken.add(value.name)
        found.append(value)
    return found


def entries_of(group: str) -> EntryPoints:
    """The entry points of a group."""
    found: EntryPoints = _entries(tuple(sys.path)).select(group=group)
    return found


@lru_cache(maxsize=1)  # looking through what is installed takes 20 ms each time
def _entries(_: tuple[str, ...]) -> Any:
    return entry_points()  # of another class in Python 3.11 than later


def _make(entry: EntryPoint, what: str, made: type) -> Any:
    try:
        return made()
    except (Exception, SystemExit) as error:  # a plug-in can fail in any way
        raise InputError(
            f"the {what} {entry.name!r} of {brought_by(entry)} cannot be made "
            f"({type(error).__name__}: {error})"
        ) from error


def load_plug_in(entry: EntryPoint, what: str) -> Any:
    """What an entry point names.

    Args:
        what: it is, in a word.

    Raises:
        InputError: it cannot be imported.
    """
    try:
        return entry.load()
    except (Exception, SystemExit) as error:  # a plug-in can fail in any way
        raise InputError(
            f"the {what} {entry.name!r} of {brought_by(entry)} cannot be imported "
            f"({type(error).__name__}: {error})"
        ) from error


def brought_by(entry: EntryPoint) -> str:
    """The distribution that an entry point is of."""
    return entry.dist.name if entry.dist else entry.value
