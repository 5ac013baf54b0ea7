"""The compiler as a library, and what may be handed to it. Only child processes import these."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .compiler import (
        CONFIGURATIONS,
        DUMP_SPECS,
        SOURCES,
        CompileFailed,
        applied,
        compilation,
        compile_with_spec,
        configure_module,
        users_compilation,
    )
    from .contents import NotMlir, check_module, check_source, parse
    from .encodings import UNSET
    from .repeating import add_repeated
    from .root_ops import (
        LOADS,
        build_problem,
        describe_op,
        index_terms,
        is_compute,
        loop_name,
        other_ops,
        product_maps,
        reductions,
        unknown_types,
    )
    from .sequences import include, match_producer, sequence
    from .specs import (
        DEFAULT_FORM,
        ENTRY_MARK,
        UNCONFIGURED,
        add_entry_point,
        match_loops,
        match_operands,
        match_product,
        new_library,
        spec_text,
        tensor_type,
    )
    from .splitting import assemble, compile_executable, split_module
    from .walking import (
        enclosing,
        entry_point,
        maker,
        module_of,
        new_context,
        reference,
        symbol,
        walk,
    )
    from .whole_ops import (
        DECOMPOSITION,
        configures_products,
        match_whole_op,
        remove_configuration,
        takes_from_outside,
        whole_op_text,
    )
else:
    __getattr__ = exports(__name__)

__all__ = [
    "CONFIGURATIONS",
    "DECOMPOSITION",
    "DEFAULT_FORM",
    "DUMP_SPECS",
    "ENTRY_MARK",
    "LOADS",
    "SOURCES",
    "UNCONFIGURED",
    "UNSET",
    "CompileFailed",
    "NotMlir",
    "add_entry_point",
    "add_repeated",
    "applied",
    "assemble",
    "build_problem",
    "check_module",
    "check_source",
    "compilation",
    "compile_executable",
    "compile_with_spec",
    "configure_module",
    "configures_products",
    "describe_op",
    "enclosing",
    "entry_point",
    "include",
    "index_terms",
    "is_compute",
    "loop_name",
    "maker",
    "match_loops",
    "match_operands",
    "match_producer",
    "match_product",
    "match_whole_op",
    "module_of",
    "new_context",
    "new_library",
    "other_ops",
    "parse",
    "product_maps",
    "reductions",
    "reference",
    "remove_configuration",
    "sequence",
    "spec_text",
    "split_module",
    "symbol",
    "takes_from_outside",
    "tensor_type",
    "unknown_types",
    "users_compilation",
    "walk",
    "whole_op_text",
]
