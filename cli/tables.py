"""Tables as text that fits a width: what is too wide is shown as several, one below the other."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence

# Between two columns.
GAP = 3
# What is drawn below titles.
RULE = "\u2500"


def known(text: str, *figures: float) -> str:
    """The figures in the text, or a dash if one of them is NaN."""
    return "-" if any(map(math.isnan, figures)) else text.format(*figures)


def table_text(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int,
    seen: bool,
    encoding: str = "utf-8",
) -> str:
    """A table, or several of the same rows, each of which begins with the first column.

    Args:
        columns: titles; those that start with `#` are of columns that are aligned to the right.
        width: of a line. A column that is wider alone is wrapped where a person looks; elsewhere
            it stays, for piped text is searched and cut.
        seen: whether a person looks at it, on a terminal.
        encoding: of where it is written; where that has no rules, hyphens are below the titles.
    """
    from rich import box
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    titles = [title.removeprefix("#") for title in columns]
    widths = [
        max([cell_len(title), *(cell_len(row[i]) for row in rows)])
        for i, title in enumerate(titles)
    ]
    text = io.StringIO()
    # Not written by rich, which ends the process where a reader has left.
    console = Console(file=text, force_terminal=seen, width=width if seen else 10_000)
    for number, part in enumerate(_parts(widths, width)):
        if number:
            console.print()
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for i in part:
            right = columns[i].startswith("#")
            table.add_column(
                Text(titles[i]),
                justify="right" if right else "left",
                no_wrap=right,
                min_width=min(cell_len(titles[i]), width // 4),
                overflow="fold",
            )
        for row in rows:
            table.add_row(*(Text(row[i]) for i in part))
        console.print(table)
    written = text.getvalue().removesuffix("\n")
    try:
        RULE.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        written = written.replace(RULE, "-")
    return written


def _parts(widths: Sequence[int], width: int) -> list[list[int]]:
    """Which columns stand side by side."""
    parts, used = [[0]], widths[0]
    for i in range(1, len(widths)):
        # Beside the first column alone it would not fit either.
        hopeless = i == len(widths) - 1 and widths[0] + GAP + widths[i] > width
        if used + GAP + widths[i] > width and len(parts[-1]) > 1 and not hopeless:
            parts.append([0])
            used = widths[0]
        parts[-1].append(i)
        used += GAP + widths[i]
    return parts
