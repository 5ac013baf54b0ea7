"""Recordings: ours, and those of other tuners. Knows no queue and no run."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .columns import Columns, read_columns
    from .duplicates import find_duplicate
    from .foreign import recording_name
    from .origins import (
        ADAPTIVE,
        DEFAULT,
        ORIGIN,
        UNIFORM,
        check_origins,
        join_origins,
        rows_with,
        split_origins,
        top_of,
    )
    from .provenance import ForeignKernel, Provenance, SampledFrom, device_name, timing_of
    from .reading import (
        is_known_table,
        looks_like_recording,
        may_be_table,
        read_recording,
        read_recordings,
    )
    from .recording import Recording
    from .synthetic import KINDS, make_synthetic, write_synthetic
    from .t4 import write_t4
    from .validity import check_problem, check_target
else:
    __getattr__ = exports(__name__)

__all__ = [
    "ADAPTIVE",
    "DEFAULT",
    "KINDS",
    "ORIGIN",
    "UNIFORM",
    "Columns",
    "ForeignKernel",
    "Provenance",
    "Recording",
    "SampledFrom",
    "check_origins",
    "check_problem",
    "check_target",
    "device_name",
    "find_duplicate",
    "is_known_table",
    "join_origins",
    "looks_like_recording",
    "make_synthetic",
    "may_be_table",
    "read_columns",
    "read_recording",
    "read_recordings",
    "recording_name",
    "rows_with",
    "split_origins",
    "timing_of",
    "top_of",
    "write_synthetic",
    "write_t4",
]
