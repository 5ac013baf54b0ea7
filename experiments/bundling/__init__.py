"""What is compiled here and measured elsewhere: bundles, and recordings of this machine."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .api import record
    from .ingest import IngestedBundle
    from .many import record_all
    from .packing import pack
    from .record_result import RecordResult
    from .recorder import PackedRecording, pack_recording, record_dispatch
    from .recorder_folder import RecorderFolder
    from .selection import Selection
else:
    __getattr__ = exports(__name__)

__all__ = [
    "IngestedBundle",
    "PackedRecording",
    "RecordResult",
    "RecorderFolder",
    "Selection",
    "pack",
    "pack_recording",
    "record",
    "record_all",
    "record_dispatch",
]
