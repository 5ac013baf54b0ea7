"""What could run: what a dispatch is, what it is compiled for, and what can be chosen.

Subpackages read dispatches, state spaces, enumerate them and link specs. Nothing here runs or
measures.
"""

from typing import TYPE_CHECKING

from ..core.lazy import exports

if TYPE_CHECKING:
    from .backend import (
        Backend,
        CompilerOptions,
        backend_named,
        backend_of,
        build_spaces,
        has_space,
        known_backends,
        known_extras,
    )
    from .dispatch import Dispatch, TensorType
    from .emitted import EMISSION_FLAGS
    from .flags import (
        DEFAULT_SPECS,
        flags_text,
        parse_flags,
        resolve_target,
        target_flags,
    )
    from .interchanged import compiled_problem
    from .kind import Kind, kind_of, known_kinds, tunable_kinds_text
    from .permutations import (
        MAX_ELEMENTS,
        parse_permutation,
        permutation_of,
        write_permutation,
    )
    from .pipeline import (
        ExecutablePipeline,
        Pipeline,
        check_rendered,
        executable_pipeline,
        known_pipelines,
    )
    from .preprocessing import Preprocessing, can_be_named
    from .problem import DYNAMIC, ELEMENT_BYTES, Dim, Gpu, Operand, Problem, Target
    from .space import CannotRender, Constraint, Knob, Space
    from .spec import APPLIED_MARK, SPEC_OPTION, TuningSpec, spec_of, spec_option, spec_texts
    from .table import DERIVED, PIPELINE, knob_value
    from .unrolled import can_unroll
else:
    __getattr__ = exports(__name__)

__all__ = [
    "APPLIED_MARK",
    "DEFAULT_SPECS",
    "DERIVED",
    "DYNAMIC",
    "ELEMENT_BYTES",
    "EMISSION_FLAGS",
    "MAX_ELEMENTS",
    "PIPELINE",
    "SPEC_OPTION",
    "Backend",
    "CannotRender",
    "CompilerOptions",
    "Constraint",
    "Dim",
    "Dispatch",
    "ExecutablePipeline",
    "Gpu",
    "Kind",
    "Knob",
    "Operand",
    "Pipeline",
    "Preprocessing",
    "Problem",
    "Space",
    "Target",
    "TensorType",
    "TuningSpec",
    "backend_named",
    "backend_of",
    "build_spaces",
    "can_be_named",
    "can_unroll",
    "check_rendered",
    "compiled_problem",
    "executable_pipeline",
    "flags_text",
    "has_space",
    "kind_of",
    "knob_value",
    "known_backends",
    "known_extras",
    "known_kinds",
    "known_pipelines",
    "parse_flags",
    "parse_permutation",
    "permutation_of",
    "resolve_target",
    "spec_of",
    "spec_option",
    "spec_texts",
    "target_flags",
    "tunable_kinds_text",
    "write_permutation",
]
