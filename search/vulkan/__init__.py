"""Vulkan: what can be chosen for SPIR-V code, how it is rendered, which profile fits."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .device import ask_device, exchanges_in_subgroups, shortages
    from .live import LIVE, PREFIX, choose_profile, profile_of, resolve_profile
    from .spaces import vulkan_spaces
    from .target import vulkan_target
else:
    __getattr__ = exports(__name__)

__all__ = [
    "LIVE",
    "PREFIX",
    "ask_device",
    "choose_profile",
    "exchanges_in_subgroups",
    "profile_of",
    "resolve_profile",
    "shortages",
    "vulkan_spaces",
    "vulkan_target",
]
