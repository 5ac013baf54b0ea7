"""Numbers about a candidate: pure functions, named and documented, in a versioned list."""

from .catalogue import CATALOGUES, CPU, GPU, Catalogue, catalogue_for, catalogue_of, extract
from .cpu_view import CpuView
from .gpu_view import GpuView
from .registry import Feature, Function, Theme, collect
from .view import View

__all__ = [
    "CATALOGUES",
    "CPU",
    "GPU",
    "Catalogue",
    "CpuView",
    "Feature",
    "Function",
    "GpuView",
    "Theme",
    "View",
    "catalogue_for",
    "catalogue_of",
    "collect",
    "extract",
]
