"""What could run: Problem, Target, Space, enumeration, tuning specs."""

from typing import TYPE_CHECKING

from ..core.lazy import exports

if TYPE_CHECKING:
    from ..core.errors import FrontrunnerError, InputError, NotTunableError, WorkError
    from .builders import build_spaces
    from .dispatch import Dispatch, TensorType
    from .enumeration import Count, count, derive, enumerate_space, records, sample, satisfies
    from .gpu_columns import EXTRAS
    from .link import LinkedSpec, link_specs
    from .materialize import CannotRender
    from .problem import Dim, Operand, Problem, Target
    from .reader import read_dispatch
    from .space import Constraint, Knob, Space
    from .spec import Entry, render_spec
else:
    __getattr__ = exports(__name__)

__all__ = [
    "EXTRAS",
    "CannotRender",
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
    "derive",
    "enumerate_space",
    "link_specs",
    "read_dispatch",
    "records",
    "render_spec",
    "sample",
    "satisfies",
]
