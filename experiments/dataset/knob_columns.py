"""Values of knobs, from the texts that a table has."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ...core import MAX_EXACT_INT
from ...search import parse_permutation, permutation_of, write_permutation
from .columns import Columns
from .tables import Table

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE | re.ASCII)
_FLAGS = {"true": True, "false": False}
# What people put between the things that they order: `0-2-1`, `i>k>j`.
_BETWEEN = re.compile(r"\s*[-,;:>|/]\s*|\s+")

Parse = Callable[[str], Any]


def knob_values(table: Table, name: str, columns: Columns) -> list[Any]:
    """The values of a knob: numbers, flags or words; None where a cell is empty.

    Raises:
        InputError: a value is of another kind than those above it.
    """
    cells = table.column(name)
    if columns.is_permutation(name):
        return _orders(table, name, cells)
    if columns.is_categorical(name):
        return [cell or None for cell in cells]
    there = list(filter(None, cells))
    if orders := _same_things(there):
        return [write_permutation(orders[cell]) if cell else None for cell in cells]
    if there and all(cell.lower() in _FLAGS for cell in there):
        return [_FLAGS[cell.lower()] if cell else None for cell in cells]
    numbers = [plain_value(cell) if cell else None for cell in cells]
    if words := [row for row, value in enumerate(numbers) if isinstance(value, str)]:
        if len(words) < len(there):
            raise table.wrong(
                words[0],
                f"{name} is {numbers[words[0]]!r:.80}, and a number in other lines",
                f"correct it, or name {name!r} among `categorical` in the file of --columns",
            )
        return [cell or None for cell in cells]
    return numbers


def plain_value(text: str) -> Any:
    """A number where a text is one, else the text."""
    if not _NUMBER.fullmatch(text):
        return text
    value = float(text)
    if value.is_integer() and abs(value) <= MAX_EXACT_INT and text.lstrip("+-").isdecimal():
        return int(text)
    return value


def _orders(table: Table, name: str, cells: list[str]) -> list[str | None]:
    """Orders, in the one way in which tables have them."""
    first: frozenset[str] | None = None
    found: list[str | None] = []
    for row, cell in enumerate(cells):
        if not cell:
            found.append(None)
            continue
        order = parse_permutation(cell) or permutation_of(_split(cell))
        if order is None or (first is not None and set(order) != first):
            raise table.wrong(
                row,
                f"{name} is {cell!r:.80}, no order of "
                + (", ".join(sorted(first)) if first else "two or more things, each once"),
                f"correct it, such as [0, 2, 1], or take {name!r} out of `permutations`",
            )
        first = first or frozenset(order)
        found.append(write_permutation(order))
    return found


def _split(cell: str) -> list[str]:
    parts = _BETWEEN.split(cell.strip("[]()"))
    return parts if len(parts) > 1 else list(cell)


def _same_things(cells: list[str]) -> dict[str, tuple[str, ...]]:
    """The orders that texts are; none unless all are, and of the same things."""
    found: dict[str, tuple[str, ...]] = {}
    for cell in dict.fromkeys(cells):
        order = parse_permutation(cell)
        if order is None or (found and set(order) != set(next(iter(found.values())))):
            return {}
        found[cell] = order
    return found
