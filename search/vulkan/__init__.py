"""Vulkan: what can be chosen for SPIR-V code, how it is rendered, which profile fits."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .live import profile_of, resolve_profile
    from .spaces import vulkan_spaces
    from .target import vulkan_target
else:
    __getattr__ = exports(__name__)

__all__ = ["profile_of", "resolve_profile", "vulkan_spaces", "vulkan_target"]
