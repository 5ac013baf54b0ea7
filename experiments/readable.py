"""Results that say in a notebook what commands say on a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

# Of a table, in a notebook.
SHOWN_ROWS = 20
# A line such as `noise floor  7.3%`: what, and how much.
_PAIR = re.compile(r"(\S.*?) {2,}(\S.*)")


class Readable:
    """A result whose `repr` is the summary that its command prints.

    Dataclasses that inherit it are made with `repr=False`.
    """

    def summary_lines(self) -> list[str]:
        """The result for people, a line each."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return "\n  ".join([type(self).__name__, *self.summary_lines()])

    def _repr_html_(self) -> str:
        return lines_html(self.summary_lines())


def lines_html(lines: Iterable[str]) -> str:
    """Lines as a table for a notebook: a row each, in two cells where a line has two parts."""
    rows = []
    for line in lines:
        if pair := _PAIR.fullmatch(line):
            name, value = map(escape, pair.groups())
            rows.append(f'<th scope="row">{name}</th><td>{value}</td>')
        else:
            rows.append(f'<td colspan="2">{escape(line)}</td>')
    style = ' style="text-align: left"'
    body = "".join(f"<tr{style}>{row}</tr>" for row in rows)
    return f"<table><tbody>{body}</tbody></table>"


def count_of(number: int, noun: str, ending: str = "s") -> str:
    """How many there are of something."""
    return f"{number:,} {noun}{'' if number == 1 else ending}"
