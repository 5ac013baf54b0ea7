"""Tables in Parquet files that somebody else may have made, read in pieces.

Some kilobytes of Parquet can stand for any number of rows, and of words of any length. So of the
ways to pack, only those that frontrunner writes are read, which leave at least a 22nd; and words
stay in their dictionaries until it is known what they come to.
"""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..core import (
    CELL_BYTES,
    InputError,
    TooLarge,
    check_table_size,
    first_line,
    format_size,
    max_bytes,
    remedy_for,
)

# By how many times the packings grow at most: in Snappy's format 3 bytes stand for 64.
GROWTH = {"UNCOMPRESSED": 1, "SNAPPY": 22}
WORDS = "BYTE_ARRAY"
PHYSICAL = ("BOOLEAN", "INT32", "INT64", "FLOAT", "DOUBLE", WORDS)
MAX_COLUMNS = 1000
# Of a list in the file's description: of columns, of groups of rows.
MAX_ENTRIES = 10_000
# That are read at a time.
ROWS = 16_384
# A number, or where a word begins and ends: Arrow's, pandas' and another that it is compared with.
COLUMNAR_BYTES = 24


def read_table(data: bytes, what: str, remedy: str, cell_bytes: int = CELL_BYTES) -> pa.Table:
    """A flat table of numbers, flags and words.

    Args:
        what: the file, in messages.
        remedy: what the user can do if it is damaged.
        cell_bytes: what a cell will take; `COLUMNAR_BYTES` where none becomes a Python object.

    Raises:
        InputError: it is cut short, too large or something else.
    """
    try:
        words = _check(_open(data).metadata, len(data), cell_bytes)
        return _read(_open(data, read_dictionary=words), cell_bytes)
    except TooLarge as error:
        raise InputError(f"cannot read {what}: {error}", remedy_for(error, remedy)) from None
    except (pa.ArrowMemoryError, MemoryError):
        raise InputError(f"cannot read {what}: it does not fit into memory", remedy) from None
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        first = first_line(error) or type(error).__name__
        raise InputError(f"{what} is cut short or no Parquet file: {first}", remedy) from None


def to_frame(table: pa.Table) -> pd.DataFrame:
    """A table for pandas: whole numbers stay whole where some are missing.

    What pandas wrote of the types is not read: it may be JSON of any depth.
    """
    kinds = {pa.large_string(): pd.StringDtype()}
    frame: pd.DataFrame = table.replace_schema_metadata(None).to_pandas(types_mapper=kinds.get)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_integer(column.type) and column.null_count:
            frame[name] = column.to_pandas(types_mapper={column.type: pd.Int64Dtype()}.get)
    return frame


def _open(data: bytes, **options: object) -> pq.ParquetFile:
    return pq.ParquetFile(
        pa.BufferReader(data),
        pre_buffer=False,
        thrift_container_size_limit=MAX_ENTRIES,
        arrow_extensions_enabled=False,
        **options,
    )


def _check(metadata: pq.FileMetaData, size: int, cell_bytes: int) -> list[str]:
    """Refuses what frontrunner does not write, and what could come to too much.

    Returns:
        The columns of words.
    """
    columns = [metadata.schema.column(i) for i in range(metadata.num_columns)]
    if len({c.name for c in columns}) < len(columns) or len(columns) > MAX_COLUMNS:
        raise ValueError(f"its {len(columns)} columns are too many, or two have one name")
    for column in columns:
        flat = column.path == column.name and not column.max_repetition_level
        if not flat or column.max_definition_level > 1 or column.physical_type not in PHYSICAL:
            raise ValueError(f"column {column.name} holds no numbers, flags or words")
    check_table_size(metadata.num_rows, len(columns), cell_bytes)
    packed = 0
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns)):
            if chunk.compression not in GROWTH or chunk.total_compressed_size < 0:
                raise ValueError(
                    f"it is packed with {chunk.compression}, not with {' or '.join(GROWTH)}"
                )
            packed += chunk.total_compressed_size
            # More than there is: the same bytes would be unpacked again and again.
            if packed > size:
                raise ValueError("its columns overlap")
            if packed * max(GROWTH.values()) > max_bytes():
                raise TooLarge(
                    f"its {format_size(packed)} may unpack to more than the limit of "
                    f"{format_size(max_bytes())}"
                )
    return [column.name for column in columns if column.physical_type == WORDS]


def _read(file: pq.ParquetFile, cell_bytes: int) -> pa.Table:
    """All rows, if they are within the limit, however many the file says there are."""
    for field in file.schema_arrow:
        if not any(is_kind(field.type) for is_kind in _KINDS):
            raise ValueError(f"column {field.name} is of {field.type}")
    batches, rows, letters = [], 0, 0
    for batch in file.iter_batches(ROWS, use_threads=False):
        rows += batch.num_rows
        letters += sum(map(_letters, batch.columns))
        check_table_size(rows, batch.num_columns, cell_bytes)
        if letters > max_bytes():
            raise TooLarge(f"its words have more than the limit of {format_size(max_bytes())}")
        batches.append(batch)
    table = pa.Table.from_batches(batches, file.schema_arrow)
    plain = [f.with_type(pa.large_string()) if _is_words(f.type) else f for f in table.schema]
    table = table.cast(pa.schema(plain, table.schema.metadata))
    # Words that are no text would be found out when they are looked at.
    table.validate(full=True)
    return table


def _letters(column: pa.Array) -> int:
    """What words take when each stands for itself."""
    if not _is_words(column.type):
        return 0
    lengths = pc.binary_length(column.dictionary).take(column.indices)
    return pc.sum(lengths).as_py() or 0


def _is_words(kind: pa.DataType) -> bool:
    return isinstance(kind, pa.DictionaryType) and kind.value_type in (
        pa.string(),
        pa.large_string(),
    )


_KINDS = (
    _is_words,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_null,
)
