"""What is compiled here and measured elsewhere: bundles, and recordings of this machine."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .api import record
    from .ingest import Ingest
    from .packing import pack
    from .recorder import Recorded, record_dispatch
else:
    __getattr__ = exports(__name__)

__all__ = ["Ingest", "Recorded", "pack", "record", "record_dispatch"]
