"""What pages are made of, as plain values: nothing here knows HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

Spec = dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """A number at the top of a page, with what to know of it."""

    label: str
    value: str
    remark: str = ""


@dataclass(frozen=True)
class Text:
    """A paragraph; a warning stands out."""

    words: str
    warning: bool = False
    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class Facts:
    """Names and what stands for them."""

    rows: tuple[tuple[str, str], ...]
    kind: ClassVar[str] = "facts"

    @classmethod
    def of(cls, rows: Iterable[tuple[str, object]]) -> Facts:
        """Those that say something."""
        words = ((name, _words(value)) for name, value in rows)
        return cls(tuple((name, said) for name, said in words if said))


@dataclass(frozen=True)
class Column:
    """A table's column; numbers are aligned and sorted as such."""

    title: str
    number: bool = False


@dataclass(frozen=True)
class Cell:
    """What a cell says, and what it is sorted by where its column holds numbers."""

    text: str
    value: float | None = None


@dataclass(frozen=True)
class Table:
    """Rows that can be sorted by each column.

    Attributes:
        title: what it shows, in words.
        chosen: the places of rows that stand out.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    chosen: frozenset[int] = frozenset()
    kind: ClassVar[str] = "table"

    @classmethod
    def of(
        cls,
        title: str,
        columns: Sequence[str],
        rows: Iterable[Sequence[Cell | str | None]],
        chosen: Iterable[int] = (),
    ) -> Table:
        """A table of columns whose titles start with `#` where they hold numbers."""
        made = tuple(Column(c.removeprefix("#"), c.startswith("#")) for c in columns)
        cells = tuple(tuple(_cell(one) for one in row) for row in rows)
        return cls(title, made, cells, frozenset(chosen))


@dataclass(frozen=True)
class Chart:
    """A chart.

    Attributes:
        answers: the question that it answers, beside its title.
        said: what it shows, for those who do not see it.
        spec: as Vega-Lite takes it; colours are those of the style sheet, such as `--accent`.
    """

    title: str
    answers: str
    said: str
    spec: Spec
    kind: ClassVar[str] = "chart"


@dataclass(frozen=True)
class Charts:
    """Small charts side by side."""

    charts: tuple[Chart, ...]
    kind: ClassVar[str] = "charts"


@dataclass(frozen=True)
class Code:
    """Text to be copied."""

    title: str
    text: str
    kind: ClassVar[str] = "code"


Block = Text | Facts | Table | Chart | Charts | Code


@dataclass(frozen=True)
class Section:
    """Blocks under a heading."""

    title: str
    blocks: tuple[Block, ...]

    @classmethod
    def of(cls, title: str, blocks: Iterable[Block]) -> Section:
        return cls(title, tuple(blocks))


@dataclass(frozen=True)
class Course:
    """How a run came on: the best so far as a share of the default's time, by candidates taken."""

    taken: tuple[int, ...]
    best: tuple[float, ...]


@dataclass(frozen=True)
class Article:
    """All about one folder or file.

    Attributes:
        kind: what it is of, such as `tuning run`.
        subject: what has to be equal for results to be compared; the title if it is empty.
        speedup: with its 95 % interval, where it is about one.
        course: of a tuning run that measured.
    """

    title: str
    kind: str
    path: str
    figures: tuple[Figure, ...]
    sections: tuple[Section, ...]
    speedup: tuple[float, float, float] | None = None
    course: Course | None = None
    subject: tuple[str, ...] = ()


def time_text(time_us: float) -> str:
    """A time for people."""
    if time_us >= 1e4:
        return f"{time_us / 1e3:,.1f} ms"
    return f"{time_us:,.1f} µs"


def number(value: float | None, form: str = ".3g", ending: str = "") -> Cell:
    """A number in a table; empty where there is none."""
    if value is None or value != value:
        return Cell("")
    return Cell(f"{value:{form}}{ending}", float(value))


def _words(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _cell(one: Cell | str | None) -> Cell:
    return one if isinstance(one, Cell) else Cell(one or "")
