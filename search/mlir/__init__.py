"""The compiler as a library, and what may be handed to it. Only child processes import these."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .compiler import (
        CONFIGURATIONS,
        SOURCES,
        CompileFailed,
        compilation,
        compile_with_spec,
        configured,
        users_compilation,
    )
    from .contents import NotMlir, check_module, check_source, parse
    from .walking import entry_point, new_context, symbol, walk
else:
    __getattr__ = exports(__name__)

__all__ = [
    "CONFIGURATIONS",
    "SOURCES",
    "CompileFailed",
    "NotMlir",
    "check_module",
    "check_source",
    "compilation",
    "compile_with_spec",
    "configured",
    "entry_point",
    "new_context",
    "parse",
    "symbol",
    "users_compilation",
    "walk",
]
