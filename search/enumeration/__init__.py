"""All candidates of a Space, or a uniform sample: Z3 expressions as joins of knob tables."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .domains import solve_domains
    from .enumeration import (
        Count,
        add_derived_columns,
        candidate_dicts,
        count,
        enumerate_space,
        sample,
        satisfies,
    )
    from .terms import lower
else:
    __getattr__ = exports(__name__)

__all__ = [
    "Count",
    "add_derived_columns",
    "candidate_dicts",
    "count",
    "enumerate_space",
    "lower",
    "sample",
    "satisfies",
    "solve_domains",
]
