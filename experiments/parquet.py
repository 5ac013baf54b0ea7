"""Tables in Parquet files that somebody else may have made."""

from __future__ import annotations

import io

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ..search import InputError


def read_table(data: bytes, what: str, remedy: str) -> pa.Table:
    """A flat table.

    Raises:
        InputError: it is cut short or something else.
    """
    try:
        return pq.read_table(io.BytesIO(data))
    except (pa.ArrowException, OSError, ValueError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{what} is cut short or no Parquet file: {first}", remedy) from None


def to_frame(table: pa.Table) -> pd.DataFrame:
    """A table for pandas."""
    frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)
    return frame
