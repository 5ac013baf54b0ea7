"""Rankers that learn trees, and trees as arrays of numbers."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .boosting import LightGBMRanker
else:
    __getattr__ = exports(__name__)

__all__ = ["LightGBMRanker"]
