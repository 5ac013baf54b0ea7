"""Tables of others: what is in a CSV file, as texts, with the lines that they stand in."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ...core import InputError, TooLarge, check_table_size, remedy_for

# Nobody tunes so many knobs, and tables of more take minutes.
MAX_COLUMNS = 1000
_DELIMITERS = (",", ";", "\t")
_REMEDY = "give a table with a line of names, and as many values in each line after it"


@dataclass(frozen=True)
class Table:
    """A table of texts.

    Attributes:
        header: the columns' names.
        rows: of each row the cells, as many as there are names.
        lines: of each row the line of the file that it ends in, from 1.
    """

    path: Path
    header: tuple[str, ...]
    rows: tuple[list[str], ...]
    lines: tuple[int, ...]

    def column(self, name: str) -> list[str]:
        place = self.header.index(name)
        return [row[place] for row in self.rows]

    def only(self, kept: list[bool]) -> Table:
        """The table without some rows."""
        rows = tuple(r for r, keep in zip(self.rows, kept, strict=True) if keep)
        lines = tuple(n for n, keep in zip(self.lines, kept, strict=True) if keep)
        return replace(self, rows=rows, lines=lines)

    def wrong(self, row: int, what: str, remedy: str) -> InputError:
        """An error about a row."""
        return InputError(f"{self.path}, line {self.lines[row]}: {what}", remedy)


def header_of(start: bytes, delimiter: str = "") -> tuple[str, ...]:
    """The names in the first line of a table; none if it is no text or has no second column.

    Args:
        start: the first bytes of a file, or all.
    """
    try:
        line = start.partition(b"\n")[0].decode("utf-8-sig")
        return _names(line, delimiter or _delimiter_of(line))
    except (UnicodeDecodeError, csv.Error, StopIteration):
        return ()


def read_table(data: bytes, path: Path, delimiter: str = "", also: tuple[str, ...] = ()) -> Table:
    """The table in a file's contents.

    Args:
        delimiter: between cells; by default that of `,`, `;` and tab by which the names are most.
        also: how a second line of names starts, from which on rows have fewer cells than before:
            those that are missing there are empty.

    Raises:
        InputError: it is no table, too large, or a line has more or fewer cells than names.
    """
    try:
        return _read(data, path, delimiter, also)
    except TooLarge as error:
        raise InputError(f"cannot read {path}: {error}", remedy_for(error, _REMEDY)) from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"cannot read {path}: it is no UTF-8 ({error.reason})", "convert it"
        ) from None
    except MemoryError:
        raise InputError(f"cannot read {path}: it does not fit into memory", _REMEDY) from None


def _read(data: bytes, path: Path, delimiter: str, also: tuple[str, ...]) -> Table:
    first = data[: data.find(b"\n")] if b"\n" in data else data
    delimiter = delimiter or _delimiter_of(first.decode("utf-8-sig"))
    # Decoded piece by piece: whole, as text, it would take four times as much.
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")
    found = _rows(text, delimiter, path)
    _, header = next(found, (1, []))
    if len(header) < 2 or len(header) > MAX_COLUMNS or not all(map(str.isprintable, header)):
        raise InputError(f"{path} has no line of 2 to {MAX_COLUMNS:,} names of columns", _REMEDY)
    if twice := next((n for n in header if n and header.count(n) > 1), None):
        raise InputError(f"{path} has two columns {twice!r}", "rename one")
    ends = data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")
    check_table_size(ends, len(header))
    rows, lines = [], []
    names, now = header, header
    for line, row in found:
        if also and tuple(row[: len(also)]) == also:
            now = row
            continue
        if len(row) != len(now):
            raise InputError(
                f"{path}, line {line}: it has {len(row)} cells, and there are {len(now)} columns",
                "give each line as many, and put cells that hold commas between quotes",
            )
        if now is not names:
            told = dict(zip(now, row, strict=True))
            row = [told.get(name, "") for name in names]
        rows.append(row)
        lines.append(line)
    if not rows:
        raise InputError(f"{path} has names of columns, and no line below them", _REMEDY)
    return Table(path, tuple(names), tuple(rows), tuple(lines))


def _rows(text: io.TextIOWrapper, delimiter: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Lines that are not empty, with their numbers."""
    reader = csv.reader(text, delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        for row in reader:
            if row:
                yield reader.line_num, [cell.strip() for cell in row]
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: {error}", _REMEDY) from None


def _delimiter_of(line: str) -> str:
    return max(_DELIMITERS, key=lambda d: len(_names(line, d)))


def _names(line: str, delimiter: str) -> tuple[str, ...]:
    try:
        row = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))
    except csv.Error:
        return ()
    names = tuple(cell.strip() for cell in row)
    return names if len(names) > 1 and all(map(str.isprintable, names)) else ()
