"""What could run: what a dispatch is, what it is compiled for, and what can be chosen.

Rooms read dispatches, state spaces, enumerate them and link specs. Nothing here runs or measures.
"""

from typing import TYPE_CHECKING

from ..core.lazy import exports

if TYPE_CHECKING:
    from .backend import (
        Backend,
        backend_named,
        backend_of,
        build_spaces,
        known_backends,
        known_extras,
    )
    from .dispatch import Dispatch, TensorType
    from .emitted import EMISSION_FLAGS
    from .flags import target_flags
    from .kind import Kind, kind_of, known_kinds, match_interface, register, what_is_tuned
    from .problem import BYTES, Dim, Gpu, Operand, Problem, Target
    from .space import Constraint, Knob, Space
    from .spec import APPLIED, SPEC_OPTION, Entry, render_spec, spec_of, spec_option
    from .table import DERIVED, PIPELINE, plain
else:
    __getattr__ = exports(__name__)

__all__ = [
    "APPLIED",
    "BYTES",
    "DERIVED",
    "EMISSION_FLAGS",
    "PIPELINE",
    "SPEC_OPTION",
    "Backend",
    "Constraint",
    "Dim",
    "Dispatch",
    "Entry",
    "Gpu",
    "Kind",
    "Knob",
    "Operand",
    "Problem",
    "Space",
    "Target",
    "TensorType",
    "backend_named",
    "backend_of",
    "build_spaces",
    "kind_of",
    "known_backends",
    "known_extras",
    "known_kinds",
    "match_interface",
    "plain",
    "register",
    "render_spec",
    "spec_of",
    "spec_option",
    "target_flags",
    "what_is_tuned",
]
