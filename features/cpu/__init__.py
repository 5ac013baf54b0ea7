"""Features of CPU candidates, by theme, over one view of their tiles."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .catalogue import CPU
    from .view import CpuView
else:
    __getattr__ = exports(__name__)

__all__ = ["CPU", "CpuView"]
