"""Generated dispatches and their configurations, verified and timed, beside other libraries."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .api import ProfileResult, profile, usual_output
    from .folder import GeneratedDispatch, find_generated
    from .generation import GenerateResult, generate
    from .log import DEFAULT, IREE, LoggedProfile, Row, read_profile_log
    from .profiles import planned_rows
    from .tables import ENDINGS, blocks, table
else:
    __getattr__ = exports(__name__)

__all__ = [
    "DEFAULT",
    "ENDINGS",
    "IREE",
    "GenerateResult",
    "GeneratedDispatch",
    "LoggedProfile",
    "ProfileResult",
    "Row",
    "blocks",
    "find_generated",
    "generate",
    "planned_rows",
    "profile",
    "read_profile_log",
    "table",
    "usual_output",
]
