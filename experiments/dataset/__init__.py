"""Recordings: ours, T4's, Kernel Tuner's. Knows no queue and no run."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .duplicates import find_copy
    from .foreign import stem
    from .reading import looks_recorded, read_recording
    from .recording import Drawn, Kernel, Provenance, Recording
    from .t4 import write_t4
    from .validity import check_problem, check_target
else:
    __getattr__ = exports(__name__)

__all__ = [
    "Drawn",
    "Kernel",
    "Provenance",
    "Recording",
    "check_problem",
    "check_target",
    "find_copy",
    "looks_recorded",
    "read_recording",
    "stem",
    "write_t4",
]
