"""Numbers about a candidate: pure functions, named and documented, in a versioned list."""

from .catalogue import CATALOGUES, CPU, GPU, catalogue_for, catalogue_of, extract
from .cpu_view import CpuView
from .generic import GENERIC, extract_knobs, generic, generic_for, generic_of
from .gpu_view import GpuView
from .registry import Catalogue, Feature, Function, Theme, collect
from .view import View

__all__ = [
    "CATALOGUES",
    "CPU",
    "GENERIC",
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
    "extract_knobs",
    "generic",
    "generic_for",
    "generic_of",
]
