"""Generated dispatches and their configurations, verified and timed, beside other libraries."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .api import ProfileResult, profile, usual_output
    from .generation import GenerateResult, generate
    from .tables import ENDINGS, blocks, table
else:
    __getattr__ = exports(__name__)

__all__ = [
    "ENDINGS",
    "GenerateResult",
    "ProfileResult",
    "blocks",
    "generate",
    "profile",
    "table",
    "usual_output",
]
