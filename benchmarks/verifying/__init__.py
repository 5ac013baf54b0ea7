"""What dispatches are called with, and whether what they return is right.

Python 3.10 and NumPy are all it needs: bundles carry it.
"""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .call import Call
    from .formula import Formula
    from .inputs import (
        F8,
        INTEGER_LIMITS,
        NUMPY_TYPES,
        Array,
        check_memory,
        from_bf16,
        make_input,
        make_inputs,
        make_positive,
        to_bf16,
    )
    from .tolerance import (
        ATTENTION_ROUNDINGS,
        Reference,
        Tolerance,
        as_float,
        coarsest,
        relative_error,
        without_finite,
    )
    from .verification import Verification
else:
    __getattr__ = exports(__name__)

__all__ = [
    "ATTENTION_ROUNDINGS",
    "F8",
    "INTEGER_LIMITS",
    "NUMPY_TYPES",
    "Array",
    "Call",
    "Formula",
    "Reference",
    "Tolerance",
    "Verification",
    "as_float",
    "check_memory",
    "coarsest",
    "from_bf16",
    "make_input",
    "make_inputs",
    "make_positive",
    "relative_error",
    "to_bf16",
    "without_finite",
]
