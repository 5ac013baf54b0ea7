"""Every feature of Vulkan candidates, in the order of the columns."""

from __future__ import annotations

from .. import context as problems
from ..registry import Catalogue, collect
from . import memory, threads, tiles
from .view import VulkanView

_MODULES = (tiles, threads, memory, problems)

VULKAN = Catalogue(
    "vulkan", 1, VulkanView, collect(module.theme for module in _MODULES), "Vulkan devices"
)
