"""Candidates in a ranker's order."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .candidates import check_queue, check_some, draw, make_queue, renderer, with_derived
    from .ordering import AdaptiveOrder
else:
    __getattr__ = exports(__name__)

__all__ = [
    "AdaptiveOrder",
    "check_queue",
    "check_some",
    "draw",
    "make_queue",
    "renderer",
    "with_derived",
]
