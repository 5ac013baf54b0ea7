"""Tables whose columns are known: those of BaCO and CATBench, and those of KTT.

BaCO (https://github.com/baco-authors/baco) and the data of CATBench
(https://github.com/odgaard/catbench) have `compute_time` in milliseconds; it is 0 where a candidate
failed. KTT (https://github.com/HiPerCoRe/KTT) has `Computation duration (us)`, sizes, knobs,
hardware counters and what the compiler says, in this order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from ...core import escape_undecodable
from .columns import Columns, Label, Status
from .foreign import recording_name
from .from_table import Source
from .tables import Table, read_table

_TIME = "compute_time"
# How much was measured: it is no knob.
_FIDELITY = ("iterations", "repeats", "wait_between_repeats", "wait_after_run", "timeouts")
_MEASURED = {*_FIDELITY, "compute_times", "energy", "cpuEnergy", "timestamp", "Timestamp"}
_VALID = "Valid"
# A number that is a name: static, dynamic or guided.
_CATEGORICAL = "omp_scheduling_type"
# What BaCO puts at the end of its files' names.
_BACO_ENDING = re.compile(r"_output_(samples|data)$")

_DURATION = re.compile(r"(Computation|Kernel) duration \((?P<unit>ns|us|ms|s)\)")
_KERNEL = "Kernel name"
_SIZE = re.compile(r"(Global|Local) size( \d+)?")
# Those that KTT takes beside the names with `__` of newer GPUs.
_COUNTERS = {
    *(f"{unit}_utilization" for unit in "dram l1_shared l2 shared".split()),
    *(f"{unit}_fu_utilization" for unit in "alu ldst special tex".split()),
    *(f"{width}_precision_fu_utilization" for width in "half single double".split()),
    *(f"inst_{what}" for what in "executed fp_16 fp_32 fp_64 integer misc replay_overhead".split()),
    *(f"{unit}_efficiency" for unit in "branch gld gst shared sm".split()),
    *("dram_read_transactions", "dram_write_transactions", "shared_load_transactions"),
    *("shared_store_transactions", "achieved_occupancy", "inst_inter_thread_communication"),
}
_COMPILED = ("Maximum work-group size", "Local memory size", "Private memory size")
# Older versions list what failed in a second table.
_FAILED = (_KERNEL, "Error message")
# `2080-vectorAdd_output`: the device goes first.
_KTT_NAME = re.compile(r"(?P<device>[^-_]+)-.+")


@dataclass(frozen=True)
class KnownTable:
    """A table with what its columns are."""

    table: Table
    columns: Columns
    source: Source


def is_known(header: tuple[str, ...]) -> bool:
    """Whether it is known what columns of these names are."""
    return _is_baco(header) or _is_ktt(header)


def read_known_table(data: bytes, header: tuple[str, ...], path: Path) -> KnownTable:
    """A table of a program that is known by its columns' names.

    Raises:
        InputError: it is damaged, or candidates were measured in different ways.
    """
    return _ktt(data, path) if _is_ktt(header) else _baco(data, path)


def _is_baco(header: tuple[str, ...]) -> bool:
    return _TIME in header and bool(_baco_knobs(header))


def _baco_knobs(header: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in header if name and name not in (_TIME, _VALID, *_MEASURED))


def _is_ktt(header: tuple[str, ...]) -> bool:
    return _KERNEL in header and any(map(_DURATION.fullmatch, header)) and bool(_ktt_knobs(header))


def _baco(data: bytes, path: Path) -> KnownTable:
    table = read_table(data, path)
    _check_fidelity(table)
    columns = Columns(
        time=_TIME,
        unit="ms",
        knobs=_baco_knobs(table.header),
        categorical=tuple(n for n in table.header if n == _CATEGORICAL),
        status=Status(_VALID, ok=(True,)) if _VALID in table.header else None,
    )
    name = recording_name(path)
    stem = _BACO_ENDING.sub("", name)
    # CATBench's are called `spmm_2630.csv`.
    kernel, _, device = stem.rpartition("_") if stem == name else (stem, "", "")
    if not kernel or not device:
        kernel, device = stem, escape_undecodable(path.resolve().parent.name)
    return KnownTable(table, columns, Source(kernel, device, "BaCO, CATBench", str(path)))


def _check_fidelity(table: Table) -> None:
    """Refuses rows that were measured otherwise, or whose values are in each other's columns.

    One of CATBench's tables has 3,857 lines in the columns' order of another one: taken as they
    stand, all of these take 5 ms, less than any other.
    """
    for name in filter(table.header.__contains__, _FIDELITY):
        cells = table.column(name)
        kinds = {cell: _number(cell) for cell in dict.fromkeys(cells)}
        for row, cell in enumerate(cells):
            if cell != cells[0] and kinds[cell] != kinds[cells[0]]:
                raise table.wrong(
                    row,
                    f"{name} is {cell!r:.80}, and {cells[0]!r:.80} in line {table.lines[0]}: lines "
                    "are measured in different ways, or their values are in other columns",
                    f"keep those of one kind: say what columns are with --columns, and [only] "
                    f"{name} = {cells[0]:.80}",
                )


def _number(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell


def _ktt(data: bytes, path: Path) -> KnownTable:
    table = read_table(data, path, also=_FAILED)
    time = next(filter(_DURATION.fullmatch, table.header))
    matched = _DURATION.fullmatch(time)
    assert matched is not None
    columns = Columns(
        time=time,
        unit=matched["unit"],
        knobs=tuple(_ktt_knobs(table.header)),
        problem=Label(column=_KERNEL),
    )
    name = recording_name(path).removesuffix("_output")
    found = _KTT_NAME.fullmatch(name)
    device = found["device"] if found else name
    return KnownTable(table, columns, Source(name, device, "KTT", str(path)))


def _ktt_knobs(header: tuple[str, ...]) -> list[str]:
    """The columns from the sizes on, up to the first counter."""
    sizes = [at for at, name in enumerate(header) if _SIZE.fullmatch(name)]
    if not sizes:
        return []
    return list(takewhile(_is_knob, header[sizes[-1] + 1 :]))


def _is_knob(name: str) -> bool:
    plain = re.sub(r" \d+$", "", name)
    counter = plain in _COUNTERS or ("__" in plain and "." in plain)
    return bool(name) and not counter and plain not in _COMPILED
