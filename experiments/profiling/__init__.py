"""Generated dispatches and their configurations, verified and timed, beside other libraries."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .bench import ProfileOptions
    from .configurations import Choice
    from .families import attentions, convs, matmuls
    from .folder import find_generated
    from .generation import generate
    from .libraries import parse_libraries
    from .log import ProfileLog
    from .profiles import check, current, profile, wanted
    from .selection import parse_patterns, select
    from .tables import peak_line, summary, table, write_tables
else:
    __getattr__ = exports(__name__)

__all__ = [
    "Choice",
    "ProfileLog",
    "ProfileOptions",
    "attentions",
    "check",
    "convs",
    "current",
    "find_generated",
    "generate",
    "matmuls",
    "parse_libraries",
    "parse_patterns",
    "peak_line",
    "profile",
    "select",
    "summary",
    "table",
    "wanted",
    "write_tables",
]
