"""Recordings: ours, T4's, Kernel Tuner's. Knows no queue and no run."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .duplicates import find_duplicate
    from .foreign import recording_name
    from .reading import looks_like_recording, read_recording
    from .recording import ForeignKernel, Provenance, Recording, SampledFrom
    from .t4 import write_t4
    from .validity import check_problem, check_target
else:
    __getattr__ = exports(__name__)

__all__ = [
    "ForeignKernel",
    "Provenance",
    "Recording",
    "SampledFrom",
    "check_problem",
    "check_target",
    "find_duplicate",
    "looks_like_recording",
    "read_recording",
    "recording_name",
    "write_t4",
]
