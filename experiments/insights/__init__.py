"""What the winners of recordings have in common, against what the compiler chooses by itself."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .api import insights
    from .result import Insight, InsightsResult
else:
    __getattr__ = exports(__name__)

__all__ = ["Insight", "InsightsResult", "insights"]
