"""Numbers about a candidate: pure functions, named and documented, in versioned catalogues."""

from typing import TYPE_CHECKING

from ..core.lazy import exports

if TYPE_CHECKING:
    from .catalogue import catalogue_for_target, catalogues, detect_catalogue, extract
    from .cpu import CPU, CpuView
    from .generic import (
        GENERIC,
        extract_knobs,
        generic_catalogue,
        generic_catalogue_of_frames,
        parse_generic_catalogue,
    )
    from .gpu import GPU
    from .registry import Catalogue, Theme, collect
    from .view import CandidateView, View
    from .vulkan import VULKAN
else:
    __getattr__ = exports(__name__)

__all__ = [
    "CPU",
    "GENERIC",
    "GPU",
    "VULKAN",
    "CandidateView",
    "Catalogue",
    "CpuView",
    "Theme",
    "View",
    "catalogue_for_target",
    "catalogues",
    "collect",
    "detect_catalogue",
    "extract",
    "extract_knobs",
    "generic_catalogue",
    "generic_catalogue_of_frames",
    "parse_generic_catalogue",
]
