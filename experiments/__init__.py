"""Questions asked with the rest: tune, and what it takes."""

from typing import TYPE_CHECKING

from ..search.lazy import exports

if TYPE_CHECKING:
    from .budget import Budget
    from .progress import NullProgress, Observer, make_progress
    from .result import TuneResult
    from .tune import TuneOptions

__getattr__ = exports(
    __name__,
    {
        "budget": ("Budget",),
        "progress": ("NullProgress", "Observer", "make_progress"),
        "result": ("TuneResult",),
        "tune": ("TuneOptions",),
    },
)

__all__ = [
    "Budget",
    "NullProgress",
    "Observer",
    "TuneOptions",
    "TuneResult",
    "make_progress",
]
