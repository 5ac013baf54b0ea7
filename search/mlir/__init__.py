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
    from .root_ops import assemble, is_compute, numbered, product_maps, words_of
    from .walking import entry_point, new_context, symbol, walk
else:
    __getattr__ = exports(__name__)

__all__ = [
    "CONFIGURATIONS",
    "SOURCES",
    "CompileFailed",
    "NotMlir",
    "assemble",
    "check_module",
    "check_source",
    "compilation",
    "compile_with_spec",
    "configured",
    "entry_point",
    "is_compute",
    "new_context",
    "numbered",
    "parse",
    "product_maps",
    "symbol",
    "users_compilation",
    "walk",
    "words_of",
]
