"""Numbers about a candidate: pure functions, named and documented, in a versioned list."""

from .catalogue import NAMES, VERSION, catalogue, extract
from .registry import Feature, Function, Theme, collect
from .view import View

__all__ = [
    "NAMES",
    "VERSION",
    "Feature",
    "Function",
    "Theme",
    "View",
    "catalogue",
    "collect",
    "extract",
]
