"""Interchanges the loops of a product in the tuning spec: see `search.interchanged` for why."""

from __future__ import annotations

from iree.compiler.dialects import transform
from iree.compiler.dialects.transform import structured

from ..interchanged import loop_order
from ..problem import Problem
from .encodings import add_check
from .sequences import include, sequence

INTERCHANGE, TRY, IF_PLAIN = "interchange_loops", "try_to_interchange", "interchange_if_plain"


def add_interchange(problem: Problem, matcher: str, action: str) -> None:
    """Adds the sequence that interchanges the loops of what a matcher matches.

    Args:
        action: is run on what becomes of it, with what the matcher yields.
    """
    any_op, any_param = transform.AnyOpType.get(), transform.AnyParamType.get()
    takes = [any_op, any_op, any_param]
    with sequence(IF_PLAIN, takes, replaces=1) as (root, product, configuration):
        add_check(root)
        order = loop_order(problem)
        moved = structured.InterchangeOp(product, iterator_interchange=order).result
        include(action, [moved, configuration])
        transform.YieldOp([])
    # A sequence whose failures are suppressed goes on after them: the check ends another one.
    with sequence(TRY, takes, replaces=1) as given:
        include(IF_PLAIN, given)
        transform.YieldOp([])
    with sequence(INTERCHANGE, [any_op]) as (root,):
        found = transform.CollectMatchingOp([any_op, any_param], root, matcher)
        include(TRY, [root, *found.results], suppress=True)
        transform.YieldOp([])
