"""Rewrites a convolution as products: one for each point of its window, each added to the last.

See `search.unrolled` for why. All of it is done by ops of the transform dialect, in the tuning
spec itself, so that `iree-compile` does the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from iree.compiler import ir
from iree.compiler.dialects import preprocessing_transform, transform
from iree.compiler.dialects.transform import loop, structured

from ..problem import Dim, Operand, Problem
from ..unrolled import is_elementwise, remaining_loops, window_of
from .sequences import include, sequence

UNROLL, FOLDED, PRODUCT = "unroll_window", "match_folded_convolution", "match_product_of_window"
# The compiler gives what is to be matched a batch dim of one. It is folded again, and the folding
# moved to where the dispatch loads and stores, since loops of one in between hinder fusion.
_FOLD = (
    "canonicalization",
    "linalg.fold_unit_extent_dims_via_reshapes",
    "iree.fold_reshape_into_tensor_hal_interface",
    "tensor.reassociative_reshape_folding",
)
# Of the window's loops, which run once by now.
_DROP = (
    "canonicalization",
    "linalg.fold_unit_extent_dims_via_slices",
    "linalg.swap_extract_slice_with_fill",
)

# Makes one op of products that sum nothing and what follows: the former pass has each take the one
# before as an input, which the latter fuses.
_FUSE = ("linalg-fold-unit-extent-dims", "linalg-fuse-elementwise-ops")

# Where the window moves by more than one, products read every other column: in a slice of these, so
# that they are products to the compiler.
SLICE_STRIDED = "iree-global-opt-convert-strided-contraction-to-contraction"


def add_unrolling(problem: Problem, matcher: str, action: str) -> None:
    """Adds the sequence that unrolls what a matcher matches, and what it needs.

    Args:
        action: is run on the last product, with what the matcher yields.
    """
    any_op, any_param = transform.AnyOpType.get(), transform.AnyParamType.get()
    folded = [d for d in problem.dims if not d.runs_once]
    with sequence(FOLDED, [any_op], matches=True) as (op,):
        _match(preprocessing_transform.MatchConvolutionOp, op, problem, folded)
        transform.YieldOp([op])
    with sequence(PRODUCT, [any_op], matches=True) as (op,):
        if is_elementwise(problem):
            _match_operands(op, 2 * _taps(problem))
        else:
            loops = remaining_loops(problem)
            _match(preprocessing_transform.MatchContractionOp, op, problem, loops)
        transform.YieldOp([op])
    with sequence(UNROLL, [any_op]) as (root,):
        found = transform.CollectMatchingOp([any_op, any_param], root, matcher)
        convolution, configuration = found.results
        include(action, [_unroll(convolution, problem), configuration])
        transform.YieldOp([])


def _unroll(convolution: ir.Value, problem: Problem) -> ir.Value:
    """Rewrites the convolution of a handle; returns the last product's, empty if it is."""
    any_op = transform.AnyOpType.get()
    function = transform.GetParentOp(any_op, convolution, op_name="func.func").result
    _rewrite(function, _FOLD)
    folded = transform.CollectMatchingOp([any_op], function, FOLDED).results[0]
    window = window_of(problem)
    loops = [d for d in problem.dims if not d.runs_once]
    if is_elementwise(problem):
        order = [loops.index(d) for d in (*remaining_loops(problem), *window)]
        folded = structured.InterchangeOp(folded, iterator_interchange=order).result
        loops = [loops[place] for place in order]
    tiled = structured.TileUsingForOp(folded, sizes=[int(d in window) for d in loops])
    # From the inside, so that what is repeated has no loop left.
    for found, dim in reversed(list(zip(list(tiled.results)[1:], window, strict=True))):
        loop.LoopUnrollOp(found, factor=dim.size)
    _rewrite(function, _DROP)
    if is_elementwise(problem):
        for name in _FUSE:
            function = transform.ApplyRegisteredPassOp(any_op, function, name).result
        return transform.CollectMatchingOp([any_op], function, PRODUCT).results[0]
    if dict(problem.traits)["stride"] > 1:
        function = transform.ApplyRegisteredPassOp(any_op, function, SLICE_STRIDED).result
    products = transform.CollectMatchingOp([any_op], function, PRODUCT).results[0]
    return transform.SplitHandleOp([any_op] * _taps(problem), products).results[-1]


def _taps(problem: Problem) -> int:
    return math.prod(d.size for d in window_of(problem))


def _match_operands(op: ir.Value, count: int) -> None:
    """Matches ops of linalg with so many operands, or more."""
    transform.MatchOperationNameOp(op, ["linalg.generic"])
    transform.GetOperandOp(transform.AnyValueType.get(), op, [count - 1])


def _match(matcher: type, op: ir.Value, problem: Problem, loops: Sequence[Dim]) -> None:
    types = [ir.Type.parse(operand.dtype) for operand in problem.operands]
    places = {problem.dims.index(d): place for place, d in enumerate(loops)}
    matcher(op, *types, [_map(operand, places) for operand in problem.operands])


def _map(operand: Operand, places: dict[int, int]) -> ir.AffineMap:
    """An operand's indexing map over some of the loops.

    Args:
        places: of those loops, by their position in the problem.
    """
    exprs = []
    for terms in operand.index:
        left = [(places[d], c) for d, c in terms if d in places]
        if len(terms) > 1 and len(left) == 1:
            # Of what is read at a stride, a slice is taken.
            left = [(left[0][0], 1)]
        if left:
            parts = [ir.AffineExpr.get_mul(ir.AffineExpr.get_dim(d), c) for d, c in left]
            exprs.append(sum(parts[1:], start=parts[0]))
    return ir.AffineMap.get(len(places), 0, exprs)


def _rewrite(function: ir.Value, patterns: Sequence[str]) -> None:
    applied = transform.ApplyPatternsOp(function)
    with ir.InsertionPoint(applied.patterns):
        for name in patterns:
            ir.Operation.create(f"transform.apply_patterns.{name}")
