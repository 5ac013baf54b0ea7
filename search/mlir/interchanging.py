"""Interchanges the loops of a product in the tuning spec: see `search.interchanged` for why."""

from __future__ import annotations

from iree.compiler.dialects import transform
from iree.compiler.dialects.transform import structured

from ..interchanged import loop_order
from ..problem import Problem
from .sequences import include, sequence

INTERCHANGE = "interchange_loops"


def add_interchange(problem: Problem, matcher: str, action: str) -> None:
    """Adds the sequence that interchanges the loops of what a matcher matches.

    Args:
        action: is run on what becomes of it, with what the matcher yields.
    """
    any_op, any_param = transform.AnyOpType.get(), transform.AnyParamType.get()
    with sequence(INTERCHANGE, [any_op]) as (root,):
        found = transform.CollectMatchingOp([any_op, any_param], root, matcher)
        product, configuration = found.results
        order = loop_order(problem)
        moved = structured.InterchangeOp(product, iterator_interchange=order).result
        include(action, [moved, configuration])
        transform.YieldOp([])
