"""What other packages bring, by entry points: found in every process, children among them."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

from .errors import InputError


def load_plug_in(entry: EntryPoint, what: str) -> Any:
    """What an entry point names.

    Args:
        what: it is, in a word.

    Raises:
        InputError: it cannot be imported.
    """
    try:
        return entry.load()
    except Exception as error:  # a plug-in can fail in any way
        raise InputError(
            f"the {what} {entry.name!r} of {brought_by(entry)} cannot be imported "
            f"({type(error).__name__}: {error})"
        ) from error


def brought_by(entry: EntryPoint) -> str:
    """The distribution that an entry point is of."""
    return entry.dist.name if entry.dist else entry.value
