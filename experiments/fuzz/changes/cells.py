"""Changes of one cell of a table in text."""

from __future__ import annotations

from random import Random

from ..traps import Traps
from .edits import ChangedData, pick, short

_CELLS = (
    b"", b" ", b"0", b"-1", b"1e400", b"-1e-400", b"inf", b"nan", b"1" * 400, b"0x10", b"1_0",
    b"x", b'"', b'""', b'"a\nb"', b'"[0, 1, 2]"', b'"(2, 1, 0)"', b'"[0, 0, 1]"', b'"[]"', b"a;b",
    b"0-1-2", b"True", b"false", b"ok", b"\0", b"\xff", b"=1+1", b"a,b", b"0" * 140_000, b"../x",
    b"compute_time",
)  # fmt: skip


def change_cell(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    """One cell, of the first line in one case of four, is something else."""
    lines = data.split(b"\n")
    at = 0 if rng.random() < 0.25 else rng.randrange(len(lines))
    cells = lines[at].split(b",")
    value = traps.word(rng).encode() if rng.random() < 0.1 else pick(rng, _CELLS)
    place = rng.randrange(len(cells))
    cells[place] = value
    lines[at] = b",".join(cells)
    return ChangedData(b"\n".join(lines), f"cell {place + 1} of line {at + 1} is {short(value)}")


def drop_column(rng: Random, data: bytes, _: Traps) -> ChangedData:
    lines = [line.split(b",") for line in data.split(b"\n")]
    place = rng.randrange(len(lines[0]))
    kept = [b",".join(cells[:place] + cells[place + 1 :]) for cells in lines]
    return ChangedData(b"\n".join(kept), f"column {place + 1} is missing")
