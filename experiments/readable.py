"""Results that say in a notebook what commands say on a terminal."""

from __future__ import annotations


class Readable:
    """A result whose `repr` is the summary that its command prints.

    Dataclasses that inherit it are made with `repr=False`.
    """

    def summary_lines(self) -> list[str]:
        """The result for people, a line each."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return "\n  ".join([type(self).__name__, *self.summary_lines()])


def count_of(number: int, noun: str, ending: str = "s") -> str:
    """How many there are of something."""
    return f"{number:,} {noun}{'' if number == 1 else ending}"
