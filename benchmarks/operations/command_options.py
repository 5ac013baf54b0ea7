"""Options of command lines, each of which has to be understood."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import copy
from typing import Self

from ...core import InputError

_NUMBER = re.compile(r"-\d")
_WHOLE = re.compile(r"-?[0-9]{1,18}")


def renamed(names: Mapping[str, str]) -> dict[str, str]:
    """What an option is called here, by each of the names that it has there."""
    return {theirs: ours for ours, all_of_them in names.items() for theirs in all_of_them.split()}


class Options:
    """The options of a benchmark program's command line, under frontrunner's names.

    Args:
        names: maps the program's option names to frontrunner's.
        ignored: options that change nothing of what is computed.
        several: those that may be given more than once: see `groups`.

    Raises:
        InputError: there are others.
    """

    def __init__(
        self,
        words: list[str],
        names: Mapping[str, str],
        ignored: frozenset[str],
        several: frozenset[str] = frozenset(),
    ) -> None:
        self._given: dict[str, tuple[str, str]] = {}
        self._several: dict[str, list[tuple[str, str]]] = {}
        self._read: set[str] = set()
        unknown = []
        at = 0
        while at < len(words):
            word, at = words[at], at + 1
            name, equals, value = word.lstrip("-").partition("=")
            if not word.startswith("-"):
                unknown.append(word)
                continue
            if not equals and at < len(words) and _is_value(words[at]):
                value, at = words[at], at + 1
            if names.get(name) in several:
                every = self._several.setdefault(names[name], [])
                every.append((word.partition("=")[0], value))
                while at < len(words) and _is_value(words[at]):
                    every.append((word, words[at]))
                    at += 1
            elif name in names:
                earlier = self._given.setdefault(names[name], (word.partition("=")[0], value))
                if earlier[1] != value:
                    raise InputError(f"{earlier[0]} is given twice, as {earlier[1]} and {value}")
            elif name not in ignored:
                unknown.append(word)
        if unknown:
            raise InputError(f"not understood: {', '.join(unknown)}")

    def groups(self) -> list[Self]:
        """The options of each group: its own of those that may be given several times.

        Raises:
            InputError: they are not given equally often.
        """
        counts = {name: len(values) for name, values in self._several.items()}
        if len(set(counts.values())) != 1:
            told = ", ".join(f"{count} {name}" for name, count in counts.items()) or "none"
            raise InputError(f"groups have to be given equally often, got {told}")
        found = []
        for place in range(next(iter(counts.values()))):
            one = copy(self)
            one._given = self._given | {n: values[place] for n, values in self._several.items()}
            one._read = set()
            found.append(one)
        return found

    def word(self, name: str, default: str) -> str:
        self._read.add(name)
        return self._given.get(name, ("", default))[1]

    def number(self, name: str, default: int | None = None) -> int:
        self._read.add(name)
        if name not in self._given:
            if default is None:
                raise InputError(f"{name.replace('_', ' ')} is missing")
            return default
        option, value = self._given[name]
        if not _WHOLE.fullmatch(value):
            raise InputError(f"{option} {value} is not a whole number")
        return int(value)

    def only(self, name: str, *values: str) -> str:
        """The value, which must be one of a few; the first is the default."""
        value = self.word(name, values[0])
        if value not in values:
            raise self.refused(name, f"only {', '.join(values)}")
        return value

    def refused(self, name: str, able: str) -> InputError:
        option, value = self._given[name]
        return InputError(f"{option} {value} is not supported, {able} is")

    def given(self, name: str) -> bool:
        return name in self._given

    def check_all_read(self) -> None:
        """Refuses options whose value nobody asked for."""
        if idle := [option for n, (option, _) in self._given.items() if n not in self._read]:
            raise InputError(f"not understood here: {', '.join(idle)}")


def _is_value(word: str) -> bool:
    return not word.startswith("-") or bool(_NUMBER.match(word))
