"""All candidates of a Space, or a uniform sample: Z3 expressions as joins of knob tables."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .domains import solve_domains
    from .enumeration import Count, count, derive, enumerate_space, records, sample, satisfies
    from .terms import lower
else:
    __getattr__ = exports(__name__)

__all__ = [
    "Count",
    "count",
    "derive",
    "enumerate_space",
    "lower",
    "records",
    "sample",
    "satisfies",
    "solve_domains",
]
