"""What a mutation is: a change of what is at a path, drawn from a seeded generator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TypeVar

from ..traps import Traps

Item = TypeVar("Item")


@dataclass(frozen=True)
class EditResult:
    """What was done to a file.

    Attributes:
        what: in words.
        refused: whether a command that takes it all the same believes what is wrong.
    """

    what: str
    refused: bool = False


@dataclass(frozen=True)
class ChangedData:
    """The new content of a file; further attributes as of `EditResult`."""

    data: bytes
    what: str
    refused: bool = False


Edit = Callable[[Random, Path, Traps], EditResult]
Change = Callable[[Random, bytes, Traps], ChangedData]


class CannotEdit(Exception):
    """A mutation does not apply to what it is given; another one is drawn."""


def of(*changes: Change) -> tuple[Edit, ...]:
    """Edits of files, given as changes of their content."""
    return tuple(_in_place(change) for change in changes)


def _in_place(change: Change) -> Edit:
    def edit(rng: Random, path: Path, traps: Traps) -> EditResult:
        changed = change(rng, path.read_bytes(), traps)
        path.write_bytes(changed.data)
        return EditResult(changed.what, changed.refused)

    return edit


def pick(rng: Random, items: Sequence[Item]) -> Item:
    """One of them.

    Raises:
        CannotEdit: there is none.
    """
    if not items:
        raise CannotEdit("there is nothing to change")
    return items[spot(rng, len(items))]


def spot(rng: Random, size: int) -> int:
    """A place in something of a size: takes one number from `rng`, whatever the size."""
    return min(int(rng.random() * size), max(size - 1, 0))


def short(value: object) -> str:
    """A value as it is told in one line."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
