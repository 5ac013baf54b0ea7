"""What failed, by reason, with what reproduces it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator

from ...benchmarks.compiling import SCRIPT, normalise
from ...benchmarks.measuring import KILLED, OK
from .drawing import Block, Cell, Table, Text, number
from .runs import Run

_REPRODUCER = re.compile(r"(\d{5,})-[a-z_]+")
MOST_MEMBERS = 12
EMISSION = "emission-crash"


def blocks(run: Run) -> Iterator[Block]:
    """Failures that look the same, the most frequent first."""
    failed = run.taken[run.taken["kind"] != OK]
    folder = run.folder.failures
    if (folder / EMISSION).is_dir():
        yield Text(
            f"The compiler crashed over its own constraints: see {folder / EMISSION}.", warning=True
        )
    if failed.empty:
        yield Text("No candidate failed.")
        return
    alike = failed.assign(key=failed["reason"].map(normalise))
    groups = [rows for _, rows in alike.groupby(["kind", "stage", "key"], sort=False)]
    groups.sort(key=lambda rows: -len(rows))
    reproducers = _reproducers(run)
    table = []
    for rows in groups:
        places = [int(place) for place in rows["place"]]
        script = next((reproducers[p] for p in places if p in reproducers), "")
        first = rows.iloc[0]
        table.append(
            (
                number(len(rows), "d"),
                Cell(first["kind"].replace("_", " ")),
                Cell(first["stage"]),
                Cell(first["reason"]),
                Cell(f"sh {shlex.quote(script)}" if script else ""),
                Cell(_places(places)),
            )
        )
    title = f"{len(failed)} of {len(run.taken)} candidates failed, for {len(groups)} reasons"
    columns = ["#count", "came to", "stage", "reason", "reproducer", "places in the queue"]
    yield Table.of(title, columns, table)
    if (failed["kind"] == KILLED).any():
        yield Text(
            "Those that were killed from outside, as the kernel does where memory is short, tell "
            "nothing of the candidate: no ranker learns from them."
        )


def _reproducers(run: Run) -> dict[int, str]:
    """Scripts by place in the queue, of one candidate for each way to fail."""
    folder = run.folder.failures
    names = os.listdir(folder) if folder.is_dir() else []
    found = [(m, name) for name in sorted(names) if (m := _REPRODUCER.fullmatch(name))]
    return {int(match[1]) + 1: str(folder / name / SCRIPT) for match, name in found}


def _places(places: list[int]) -> str:
    shown = ", ".join(map(str, places[:MOST_MEMBERS]))
    return shown + (", ..." if len(places) > MOST_MEMBERS else "")
