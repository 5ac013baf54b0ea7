"""Keeps specs from products whose operands data tiling lays out.

With `--iree-opt-data-tiling`, operands have encodings when specs are applied, and are tiled after
that: of such a product the compiler cannot make what a spec says, and the build fails ("failed to
build pass pipeline"). What matches types does not see encodings. But an op takes the encoding off
the result, in the same dispatch: of the product, or of what is fused to it. Products whose result
several ops take, or a longer chain of ops, are not found.
"""

from __future__ import annotations

from functools import partial

from iree.compiler import ir
from iree.compiler.dialects import transform
from iree.compiler.dialects.transform import structured

from .root_ops import LOADS
from .sequences import (
    match_count,
    match_number,
    match_producer,
    match_structured,
    sequence,
    taker_of,
)

_SET, UNSET = "iree_encoding.set_encoding", "iree_encoding.unset_encoding"
_MATCHERS = ("match_encoded_product", "match_encoded_and_fused")
_LEAVE = "leave_encoded"


def add_guards() -> list[tuple[str, str]]:
    """Adds matchers of what has an encoding, and an action that does nothing; gives their pairs.

    Of several pairs the first that matches is applied: these are to come before others.
    """
    any_op = transform.AnyOpType.get()
    with sequence(_LEAVE, [any_op]):
        transform.YieldOp([])
    for between, name in enumerate(_MATCHERS):
        with sequence(name, [any_op], matches=True) as (op,):
            _match_sum(op)
            taker = op
            for _ in range(between + 1):
                (taker,) = match_structured(taker, partial(taker_of, only=True), gives=1)
            transform.MatchOperationNameOp(taker, [UNSET])
            transform.YieldOp([op])
    return [(name, _LEAVE) for name in _MATCHERS]


def add_check(root: ir.Value) -> None:
    """Has a sequence that rewrites fail where anything in a dispatch has an encoding."""
    unset = structured.MatchOp(transform.AnyOpType.get(), root, ops=[UNSET]).results_
    number = ir.Type.parse("!transform.param<i64>")
    # `match.operation_empty` would take several for an error that nothing suppresses.
    match_number(transform.NumAssociationsOp(number, unset).num, 0)


def _match_sum(op: ir.Value) -> None:
    """Matches ops of two operands that add to a tensor.

    Of what has no results, such as a copy in memory, to ask for their taker is a crash.
    """

    def ask(inner: ir.Value) -> None:
        match_count(inner, "num_inputs", 2)
        match_count(inner, "num_inits", 1)

    match_structured(op, ask)
    match_producer(op, 2, ["linalg.fill", _SET, *LOADS])
