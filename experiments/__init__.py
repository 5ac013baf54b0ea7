"""Questions asked with the rest: tune, and what it takes."""

from typing import TYPE_CHECKING

from ..core.lazy import exports

if TYPE_CHECKING:
    from .compile_result import CompileResult
    from .options import TuneOptions
    from .progress import NullProgress, Observer, make_progress
    from .result import TuneResult
else:
    __getattr__ = exports(__name__)

__all__ = [
    "CompileResult",
    "NullProgress",
    "Observer",
    "TuneOptions",
    "TuneResult",
    "make_progress",
]
