"""Knobs whose value is an order of things, such as of loops: how one is read from its text."""

from __future__ import annotations

_BRACKETS = {"[": "]", "(": ")"}
# Of 16 there are 256 features, two for each pair; longer ones are words like others.
MAX_ELEMENTS = 16


def parse_permutation(text: str) -> tuple[str, ...] | None:
    """What a text such as `[0, 2, 1]` or `("i", "k", "j")` puts in order.

    Returns:
        The elements as words; None if it is something else, or one is there twice.
    """
    inner = text.strip()
    if len(inner) < 2 or _BRACKETS.get(inner[0]) != inner[-1]:
        return None
    return permutation_of(inner[1:-1].split(","))


def permutation_of(parts: list[str]) -> tuple[str, ...] | None:
    """The elements as words, without quotes; None if they are no order of two or more things."""
    found = tuple(part.strip().strip("'\"") for part in parts)
    if not 2 <= len(found) <= MAX_ELEMENTS or len(set(found)) < len(found):
        return None
    plain = all(found) and not any(set(element) & set("[](){}'\",") for element in found)
    return found if plain else None


def write_permutation(elements: tuple[str, ...]) -> str:
    """The one way in which tables have it: `[0, 2, 1]`."""
    return f"[{', '.join(elements)}]"
