"""What is compiled here and measured elsewhere: bundles, and recordings of this machine."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .ingest import Ingest
    from .packing import pack
    from .recorder import record
else:
    __getattr__ = exports(__name__)

__all__ = ["Ingest", "pack", "record"]
