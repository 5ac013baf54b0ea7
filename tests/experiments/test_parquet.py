"""Tables in Parquet that nobody vouches for."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from frontrunner.core import InputError
from frontrunner.core.limits import RAISE_LIMIT_HINT, limit_bytes
from frontrunner.experiments import parquet
from frontrunner.experiments.parquet import COLUMNAR_BYTES, read_table, to_frame

MIB = 1 << 20
REMEDY = "copy it again"


def written(table: pa.Table, **options: object) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, **options)
    return buffer.getvalue()


def refusal(data: bytes, remedy: str = REMEDY) -> str:
    with pytest.raises(InputError) as refused:
        read_table(data, "t.parquet", REMEDY)
    assert refused.value.hint == remedy
    assert "t.parquet" in str(refused.value)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_what_pandas_wrote_comes_back() -> None:
    frame = pd.DataFrame(
        {
            "whole": [1, 2, 3],
            "some": pd.array([1, None, 3], "Int64"),
            "number": [0.5, np.nan, 1e300],
            "flag": [True, False, True],
            "word": pd.array(["a", None, "µ" * 1000], "string"),
            "a.b": [1, 1, 1],
            "nothing": [None, None, None],
        }
    )
    for packing in ("snappy", "none"):
        for pages in ({}, {"use_dictionary": False}, {"row_group_size": 1}):
            data = written(pa.Table.from_pandas(frame), compression=packing, **pages)
            found = to_frame(read_table(data, "t", REMEDY))
            pd.testing.assert_frame_equal(found, frame)
    none = written(pa.Table.from_pandas(frame.iloc[:0]))
    assert to_frame(read_table(none, "t", REMEDY)).dtypes["whole"] == np.int64


def test_what_is_beside_the_table_is_kept() -> None:
    data = written(pa.table({"a": [1]}).replace_schema_metadata({"key": "value"}))
    assert read_table(data, "t", REMEDY).schema.metadata[b"key"] == b"value"


def nested(depth: int) -> pa.Table:
    kind = pa.int64()
    for _ in range(depth):
        kind = pa.struct([("a", kind)])
    return pa.table({"a": pa.nulls(1, kind)})


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"PAR1", "is cut short or no Parquet file"),
        (written(pa.table({"a": [1]}))[:-20], "is cut short or no Parquet file"),
        (written(pa.table({"a": [1]}), compression="zstd"), "it is packed with ZSTD, not with"),
        (written(pa.table({"a": [[1, 2]]})), "holds no numbers, flags or words"),
        (written(nested(1)), "holds no numbers, flags or words"),
        (written(nested(500), store_schema=False), "holds no numbers, flags or words"),
        (written(pa.table({"a": [datetime.now(UTC)]})), "column a is of timestamp"),
        (written(pa.table({"a": [b"x"]})), "column a is of dictionary<values=binary"),
        (
            written(pa.table({"a": pa.array([b"12"], pa.binary(2))})),
            "holds no numbers, flags or words",
        ),
        (written(pa.table([[1], [2]], ["a", "a"])), "two have one name"),
        (written(pa.table({f"{i}": [i] for i in range(1001)})), "1001 columns are too many"),
        (
            written(pa.table({"a": pa.array([b"\xff"]).view(pa.string())})),
            "is cut short or no Parquet file: .*UTF8",
        ),
    ],
)
def test_refused(data: bytes, told: str) -> None:
    assert re.search(told, refusal(data))


def rows(times: int) -> pa.Table:
    return pa.table({"a": pa.repeat(1, times), "b": pa.repeat(0.5, times)})


def words(length: int, times: int) -> pa.Table:
    word = pa.DictionaryArray.from_arrays(pa.array([0] * times, pa.int32()), ["x" * length])
    return pa.table({"a": word})


@pytest.mark.parametrize(
    ("make", "fits", "beyond", "told"),
    [
        (lambda n: rows(n), 8000, 9000, "it has 9,000 rows of 2 values, which take more than"),
        (lambda n: words(n, 1000), 900, 1100, "its words have more than the limit of 1 MiB"),
    ],
)
def test_what_is_small_but_comes_to_much(
    make: Callable[[int], pa.Table], fits: int, beyond: int, told: str
) -> None:
    with limit_bytes(MIB):
        data = written(make(fits))
        assert read_table(data, "t", REMEDY).num_rows in (fits, 1000)
        large = written(make(beyond))
        assert len(large) < 5000
        assert told in refusal(large, RAISE_LIMIT_HINT)
    assert read_table(large, "t", REMEDY).num_rows in (beyond, 1000)


def test_a_table_that_makes_no_objects_may_be_longer() -> None:
    with limit_bytes(MIB):
        data = written(rows(20_000))
        assert "20,000 rows of 2 values" in refusal(data, RAISE_LIMIT_HINT)
        assert read_table(data, "t", REMEDY, COLUMNAR_BYTES).num_rows == 20_000


def test_what_may_unpack_to_more_than_the_limit() -> None:
    data = written(pa.table({"a": np.random.default_rng(0).integers(0, 1 << 60, 20_000)}))
    assert len(data) > 100_000
    with limit_bytes(2 * MIB):
        assert "KiB may unpack to more than the limit of 2 MiB" in refusal(data, RAISE_LIMIT_HINT)
    with limit_bytes(5 * MIB):
        read_table(data, "t", REMEDY)


def test_what_is_said_of_the_rows_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    data = written(rows(50_000))
    monkeypatch.setattr(parquet, "_check", lambda metadata, size, cell_bytes: [])
    with limit_bytes(MIB):
        assert "rows of 2 values, which take more than" in refusal(data, RAISE_LIMIT_HINT)


def test_columns_of_the_same_bytes() -> None:
    data = written(rows(10))
    with pytest.raises(ValueError, match="its columns overlap"):
        parquet._check(pq.read_metadata(io.BytesIO(data)), 50, 1)


def test_what_does_not_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: pq.ParquetFile, cell_bytes: int) -> pa.Table:
        raise pa.ArrowMemoryError("malloc of size 64 failed")

    monkeypatch.setattr(parquet, "_read", full)
    assert "t.parquet: it does not fit into memory" in refusal(written(rows(1)))
