"""What the columns of somebody's table are, as a file in TOML says it.

    time = "runtime"                         # or several, which are repeats: their median is taken
    unit = "ms"                              # ns, us, ms or s
    knobs = ["tile_*", "order", "schedule"]  # names, or patterns of a shell
    permutations = ["order"]                 # whose values are orders: [0, 2, 1], (0, 2, 1), 0-2-1
    categorical = ["schedule"]               # whose values are names, also where they are numbers

    [problem]
    column = ["kernel", "size"]              # one or several; or name = "spmm", the same for all

    [device]
    name = "A100"                            # likewise

    [status]                                 # beside times that are infinite or 0
    column = "valid"
    ok = [true]                              # all else has failed; or only
    timeout = ["killed"]                     # what is listed as a failure of some kind

    [only]                                   # rows that count
    iterations = 10

Only the first three must be there.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from ...benchmarks.measuring import (
    COMPILE_FAILED,
    CRASHED,
    NOT_APPLIED,
    OK,
    TIMEOUT,
    WRONG_RESULT,
)
from ...core import InputError, decode, describe_error, read_limited

UNITS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
_HINT = 'such as time = "runtime", unit = "ms" and knobs = ["tile_*"]; docs/recordings.md has more'
# A file that people write; what is larger is another.
_MOST_BYTES = 1 << 20

Value = str | int | float | bool


@dataclass(frozen=True)
class Label:
    """What tells problems or devices apart: a name for all rows, or the values of columns."""

    name: str = ""
    column: str | tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,) if isinstance(self.column, str) else self.column


@dataclass(frozen=True)
class Status:
    """What says how a candidate ended: values of a column.

    Attributes:
        ok: where some are given, all others are of candidates that crashed; else all are `ok` that
            are not listed below.
    """

    column: str
    ok: tuple[Value, ...] = ()
    compile_failed: tuple[Value, ...] = ()
    not_applied: tuple[Value, ...] = ()
    crashed: tuple[Value, ...] = ()
    timeout: tuple[Value, ...] = ()
    wrong_result: tuple[Value, ...] = ()

    def kind(self, cell: str) -> str:
        """The outcome that a cell stands for."""
        for kind in (OK, COMPILE_FAILED, NOT_APPLIED, CRASHED, TIMEOUT, WRONG_RESULT):
            if any(is_value(cell, value) for value in getattr(self, kind)):
                return kind
        return CRASHED if self.ok else OK


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are.

    Attributes:
        time: one column, or several that are repeats.
        unit: of the times: `ns`, `us`, `ms` or `s`.
        knobs: names of columns, or patterns of a shell.
        permutations: those of the knobs whose values put things in order.
        categorical: those of the knobs whose values are names, also where they are numbers.
        problem, device: what is computed, and on what; by default as the file is called.
        status: what says how a candidate ended; None if only times do.
        only: by column: values of rows that count.
        delimiter: between cells; found by default.
    """

    time: str | tuple[str, ...]
    unit: str
    knobs: tuple[str, ...]
    permutations: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    problem: Label = Label()
    device: Label = Label()
    status: Status | None = None
    only: Mapping[str, Value | tuple[Value, ...]] = field(default_factory=dict)
    delimiter: str = ""

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise ValueError(f"unit is {self.unit!r}, not one of {', '.join(UNITS)}")
        if not self.knobs or not self.times:
            raise ValueError(f"{'time' if self.knobs else 'knobs'} names no column")
        if len(self.delimiter) > 1 or self.delimiter in ('"', "\n", "\r", " "):
            raise ValueError(f"delimiter is {self.delimiter!r}, not a character such as ;")
        for name, label in (("problem", self.problem), ("device", self.device)):
            if label.name and label.columns:
                raise ValueError(f"{name} has a name and a column, give one of them")

    @property
    def times(self) -> tuple[str, ...]:
        return (self.time,) if isinstance(self.time, str) else self.time

    def check(self, header: tuple[str, ...], table: Path, said_by: str) -> None:
        """Refuses names of columns that a table lacks.

        Raises:
            InputError: naming what says so, and the columns that there are.
        """
        named = {
            "time": self.times,
            "problem": self.problem.columns,
            "device": self.device.columns,
            "status": (self.status.column,) if self.status else (),
            "only": tuple(self.only),
        }
        for role, columns in named.items():
            for column in columns:
                if column not in header or not column:
                    raise _missing(said_by, role, f"the column {column!r}", table, header)
        free = self.knob_columns(header)
        for role in ("knobs", "permutations", "categorical"):
            for pattern in getattr(self, role):
                if any(_matches(name, pattern) for name in free):
                    continue
                if pattern in header and role == "knobs":
                    raise InputError(
                        f"{said_by}: {pattern!r} is a knob, and something else, too",
                        "give each column one meaning",
                    )
                what = f"the column {pattern!r}" if role == "knobs" else f"the knob {pattern!r}"
                raise _missing(said_by, role, what, table, header)

    def knob_columns(self, header: tuple[str, ...]) -> list[str]:
        """The columns that are knobs, in the table's order."""
        taken = {*self.times, *self.problem.columns, *self.device.columns, ""}
        if self.status:
            taken.add(self.status.column)
        return [n for n in header if n not in taken and self._is(n, self.knobs)]

    def is_permutation(self, knob: str) -> bool:
        return self._is(knob, self.permutations)

    def is_categorical(self, knob: str) -> bool:
        return self._is(knob, self.categorical)

    @staticmethod
    def _is(name: str, patterns: tuple[str, ...]) -> bool:
        return any(_matches(name, pattern) for pattern in patterns)


def read_columns(path: Path) -> Columns:
    """What a file says of a table's columns.

    Raises:
        InputError: it cannot be read, or holds something else.
    """
    data = read_limited(path, "give a TOML file")
    try:
        if len(data) > _MOST_BYTES:
            raise ValueError("it is larger than 1 MiB")
        return decode(Columns, tomllib.loads(data.decode("utf-8-sig")))
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(
            f"{path} does not say what columns are: {describe_error(error)}", _HINT
        ) from None


def is_value(cell: str, value: Value) -> bool:
    """Whether a cell holds a value: flags in any case, numbers however they are written."""
    if isinstance(value, bool):
        return cell.lower() == str(value).lower()
    if isinstance(value, str):
        return cell == value.strip()
    try:
        return float(cell) == value
    except ValueError:
        return False


def _matches(name: str, pattern: str) -> bool:
    return name == pattern or fnmatchcase(name, pattern)


def _missing(
    said_by: str, role: str, what: str, table: Path, header: tuple[str, ...]
) -> InputError:
    there = ", ".join(filter(None, header))
    return InputError(
        f"{said_by}: {role} names {what}, and {table} has none that it could be",
        f"it has {there if len(there) < 500 else there[:500] + '...'}",
    )
