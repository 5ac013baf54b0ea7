"""Changes of Parquet files: recordings, queues, tables of profiles."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..traps import Traps
from .edits import CannotEdit, Change, ChangedData, pick, spot
from .json import change_json, trap_json
from .raw import ANY

_OURS, _PANDAS = b"frontrunner", b"pandas"
_NUMBERS = (math.nan, math.inf, -math.inf, -1.0, 0.0, 1e30, 1e300)


def change_table(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    """Any of the changes."""
    change: Change = rng.choice([*ANY_TABLE, *ANY[:6]])
    return change(rng, data, traps)


def drop_column(rng: Random, data: bytes, _: Traps) -> ChangedData:
    table = _read(data)
    name = pick(rng, table.column_names)
    return ChangedData(_write(table.drop_columns([name])), f"column {name} is missing")


def rename_column(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    table = _read(data)
    names = list(table.column_names)
    place = spot(rng, len(names))
    names[place] = rng.choice(["x", "", "kind", "index", names[0], traps.word(rng), "derived.x"])
    return ChangedData(
        _write(table.rename_columns(names)), f"column {place} is {names[place][:60]!r}"
    )


def add_column(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    table = _read(data)
    name = rng.choice(["x", "derived.x", "measure_s", "index", "time_us", traps.word(rng)])
    column = pa.array([0] * table.num_rows)
    return ChangedData(
        _write(table.append_column(name, column)), f"column {name[:60]!r} is there, too"
    )


def recast_column(rng: Random, data: bytes, _: Traps) -> ChangedData:
    """A column holds values of another type."""
    table = _read(data)
    place = spot(rng, table.num_columns)
    count = table.num_rows
    column, what = rng.choice(_COLUMNS)(count)
    name = table.column_names[place]
    return ChangedData(_write(table.set_column(place, name, column)), f"column {name} is {what}")


def change_value(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    table = _read(data)
    place, row = spot(rng, table.num_columns), spot(rng, table.num_rows)
    field = table.schema.field(place)
    values = table.column(place).to_pylist()
    value = _value(rng, field.type, traps)
    if not values:
        raise CannotEdit("there is no row")
    values[row] = value
    column = pa.array(values, field.type)
    changed = table.set_column(place, field, column)
    return ChangedData(_write(changed), f"{field.name} of row {row} is {value!r:.60}")


def change_rows(rng: Random, data: bytes, _: Traps) -> ChangedData:
    table = _read(data)
    changed, what = rng.choice(
        [
            (table.slice(0, 0), "there is no row"),
            (table.slice(1), "the first row is missing"),
            (pa.concat_tables([table, table]), "all rows are there twice"),
            (pa.concat_tables([table] * 20_000), "all rows are there 20,000 times"),
            (table.take(list(reversed(range(table.num_rows)))), "the rows are in another order"),
        ]
    )
    return ChangedData(_write(changed), what)


def change_metadata(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    """One place of the JSON beside the columns: the provenance, or what pandas says."""
    table = _read(data)
    kept = table.schema.metadata or {}
    key = pick(rng, [key for key in (_OURS, _OURS, _PANDAS) if key in kept])
    changed = rng.choice([change_json, change_json, trap_json])(rng, kept[key], traps)
    table = table.replace_schema_metadata({**kept, key: changed.data})
    return ChangedData(_write(table), f"{key.decode()} metadata: {changed.what}")


def other_metadata(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    table = _read(data)
    kept = dict(table.schema.metadata or {})
    key = rng.choice([_OURS, _PANDAS, b"ARROW:schema", b"org.apache.spark.sql"])
    value = rng.choice([b"", b"null", b"[" * 200_000, b"\xff", traps.pickled(), b"x" * 30_000_000])
    table = table.replace_schema_metadata({**kept, key: value})
    return ChangedData(_write(table), f"{key.decode()} metadata is {value[:20]!r}")


def pickled_type(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    """A column of a type that Arrow once unpickled when it read one."""
    table = _read(data)
    place = spot(rng, table.num_columns)
    field = table.schema.field(place)
    said = {
        b"ARROW:extension:name": rng.choice([b"arrow.py_extension_type", b"trap_module.Type"]),
        b"ARROW:extension:metadata": traps.pickled(),
    }
    schema = table.schema.set(place, field.with_metadata(said))
    return ChangedData(_write(table.cast(schema)), f"column {field.name} is of a pickled type")


def nest_column(rng: Random, data: bytes, _: Traps) -> ChangedData:
    table = _read(data)
    depth = rng.choice([2, 60, 400])
    kind: Any = pa.int64()
    for _level in range(depth):
        kind = pa.list_(kind)
    column = pa.array([None] * table.num_rows, kind)
    return ChangedData(_write(table.append_column("x", column)), f"a column has lists {depth} deep")


def widen(rng: Random, data: bytes, _: Traps) -> ChangedData:
    table = _read(data)
    count = rng.choice([500, 5_000])
    zeros = pa.array([0] * table.num_rows)
    names = [*table.column_names, *(f"x{n}" for n in range(count))]
    columns = [*table.columns, *[zeros] * count]
    changed = pa.Table.from_arrays(columns, names).replace_schema_metadata(table.schema.metadata)
    return ChangedData(_write(changed), f"there are {count} columns more")


def be_a_bomb(rng: Random, data: bytes, _: Traps) -> ChangedData:
    """Millions of rows, all of them the first one."""
    table = _read(data).slice(0, 1)
    if not table.num_rows:
        raise CannotEdit("there is no row")
    columns, rows, groups = rng.choice([(2, 4_000_000, 40), (table.num_columns, 500_000, 24)])
    narrow = table.select(table.column_names[:columns])
    part = pa.Table.from_arrays(
        [pa.repeat(column[0], rows) for column in narrow.columns], schema=narrow.schema
    )
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, narrow.schema, compression="zstd") as writer:
        for _group in range(groups):
            writer.write_table(part, row_group_size=rows)
    return ChangedData(sink.getvalue(), f"it has {rows * groups:,} rows of {columns} columns")


def be_a_bomb_of_words(rng: Random, data: bytes, _: Traps) -> ChangedData:
    """A word of a megabyte, which is kept once and is there in every row."""
    rows = rng.choice([1_000, 6_000])
    names = rng.choice([_read(data).column_names, ["x", "y"]])
    word = pa.array(["x" * 1_000_000])
    column = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), word)
    kept = _read(data).schema.metadata
    table = pa.Table.from_arrays([column] * len(names), names).replace_schema_metadata(kept)
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd", store_schema=False)
    return ChangedData(sink.getvalue(), f"{len(names)} columns of {rows:,} words of 1 MB")


ANY_TABLE: tuple[Change, ...] = (
    drop_column,
    rename_column,
    add_column,
    recast_column,
    recast_column,
    change_value,
    change_value,
    change_rows,
    change_metadata,
    change_metadata,
    change_metadata,
    other_metadata,
    pickled_type,
    nest_column,
    widen,
    be_a_bomb,
    be_a_bomb_of_words,
)


def without_a_knob(rng: Random, data: bytes, _: Traps) -> ChangedData:
    """A queue whose candidates lack a knob that configurations are made of."""
    table = _read(data)
    knobs = [name for name in table.column_names if name not in ("pipeline", "index")]
    name = pick(rng, knobs)
    changed = _write(table.drop_columns([name]))
    return ChangedData(changed, f"the knob {name} is missing", refused=True)


def _columns() -> tuple[Callable[[int], tuple[Any, str]], ...]:
    def of(value: Any, what: str, kind: Any = None) -> Callable[[int], tuple[Any, str]]:
        return lambda count: (pa.array([value] * count, kind), what)

    return (
        of("x", "words"),
        of("-1", "numbers as words"),
        of(None, "empty", pa.null()),
        of(None, "empty numbers", pa.float64()),
        of([1, 2], "lists"),
        of({"a": 1}, "objects"),
        of(b"\xff\xfe", "bytes"),
        of(True, "flags"),
        of(-1, "-1"),
        of(2**62, "2**62"),
        of(1e300, "1e300"),
        of(10**30, "of 31 digits", pa.decimal128(38)),
        of(1, "times", pa.timestamp("ns")),
        of("x" * 100_000, "words of 100 kB"),
        lambda count: (pa.array([None] * count).dictionary_encode(), "a dictionary of nothing"),
        lambda count: (pa.array(["a"] * count).dictionary_encode(), "a dictionary"),
    )


_COLUMNS = _columns()


def _value(rng: Random, kind: Any, traps: Traps) -> Any:
    if pa.types.is_floating(kind):
        return rng.choice([None, *_NUMBERS])
    if pa.types.is_integer(kind):
        most = 2 ** (kind.bit_width - 1) - 1
        return rng.choice([None, 0, -1, most, -most - 1, 10**6 if most > 10**6 else 1])
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return rng.choice([None, "", "x", "ok", "crashed", "\0", traps.word(rng), "x" * 1_000_000])
    return None


def _read(data: bytes) -> Any:
    try:
        return pq.read_table(io.BytesIO(data))
    except (pa.ArrowException, OSError) as error:
        raise CannotEdit(str(error)) from error


def _write(table: Any) -> bytes:
    sink = io.BytesIO()
    try:
        pq.write_table(table, sink)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CannotEdit(str(error)) from error
    return sink.getvalue()


def provenance(data: bytes) -> dict[str, Any]:
    """What a recording says of itself."""
    found: dict[str, Any] = json.loads(_read(data).schema.metadata[_OURS])
    return found
