"""Features of GPU candidates, by theme, over one view of their tiles."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .catalogue import GPU
    from .view import GpuView
else:
    __getattr__ = exports(__name__)

__all__ = ["GPU", "GpuView"]
