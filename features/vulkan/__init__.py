"""Features of Vulkan candidates, by theme, over one view of their tiles."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .catalogue import VULKAN
else:
    __getattr__ = exports(__name__)

__all__ = ["VULKAN"]
