"""What could run: Problem, Target, Space, enumeration, tuning specs.

Names are imported when they are first used: every compile worker and device process imports this
package, and Z3 and pandas would cost each of them half a second.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .builders import build_spaces
    from .enumeration import Count, count, enumerate_space, sample, satisfies
    from .errors import FrontrunnerError, InputError, NotTunableError, WorkError
    from .link import LinkedSpec, link_specs
    from .problem import Dim, Operand, Problem, Target
    from .reader import Dispatch, TensorType, read_dispatch
    from .space import Constraint, Knob, Space
    from .spec import Entry, render_spec

_MODULES = {
    "builders": ("build_spaces",),
    "enumeration": ("Count", "count", "enumerate_space", "sample", "satisfies"),
    "errors": ("FrontrunnerError", "InputError", "NotTunableError", "WorkError"),
    "link": ("LinkedSpec", "link_specs"),
    "problem": ("Dim", "Operand", "Problem", "Target"),
    "reader": ("Dispatch", "TensorType", "read_dispatch"),
    "space": ("Constraint", "Knob", "Space"),
    "spec": ("Entry", "render_spec"),
}

__all__ = [
    "Constraint",
    "Count",
    "Dim",
    "Dispatch",
    "Entry",
    "FrontrunnerError",
    "InputError",
    "Knob",
    "LinkedSpec",
    "NotTunableError",
    "Operand",
    "Problem",
    "Space",
    "Target",
    "TensorType",
    "WorkError",
    "build_spaces",
    "count",
    "enumerate_space",
    "link_specs",
    "read_dispatch",
    "render_spec",
    "sample",
    "satisfies",
]


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
