"""What reads each element about once: sums and maxima of rows, norms, elementwise ops, transposes.

Models have them between their products, and im2col makes copies of windows. The compiler's vectors
for them are often too short, or leave a remainder: 3000 rows of 500 take 0.87 ms for exp2 by
default, and 0.42 with 8x16 (AVX-512).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..kind import Kind
from ..problem import Problem

if TYPE_CHECKING:
    from ..spec import TuningSpec

_GENERIC = "linalg.generic"
# What puts tensors into buffers: of what was configured, which is read, the first, and the second
# when specs are applied.
_STORES = ("iree_codegen.store_to_buffer", "iree_tensor_ext.dispatch.tensor.store")


class GenericKind(Kind):
    """`linalg.generic` that is no product: reductions, or elementwise ops.

    Inputs come from memory. A reduction may have elementwise ops after it, which the compiler
    fuses. Others are read only where they are all that a dispatch computes, and are stored.
    """

    name = "generic"
    plural = "generic ops (reductions, elementwise)"
    memory_bound = True

    def read(self, root: Any) -> Problem | None:
        from iree.compiler import ir
        from iree.compiler.dialects import linalg

        from ..mlir import build_problem, index_terms, loop_name, other_ops, reductions

        if root.name != _GENERIC or len(root.results) != 1:
            return None
        if linalg.isa_contraction_op(root) or linalg.isa_convolution_op(root):
            return None
        *inputs, out = root.operands
        maps = [ir.AffineMapAttr(m).value for m in linalg.get_indexing_maps(root)]
        if not inputs or not all(map(_is_tensor, inputs)):
            return None
        if not len(maps[-1].results):  # the whole is one value
            return None
        if not all(map(_is_loaded, inputs)) or not _is_arithmetic(root):
            return None
        reduced = [d for d, reduces in enumerate(reductions(root)) if reduces]
        usual = _is_projection if reduced else _is_window
        if not all(map(usual, maps[:-1])) or not _is_projection(maps[-1]):
            return None
        others = other_ops(root)
        if any(op.name != _GENERIC or any(reductions(op)) for op in others):
            return None
        if others and not reduced:
            return None
        # As `match` asks: of several takers, it sees one alone, and no reshape between.
        users = [use.owner.operation.name for use in root.results[0].uses]
        takers = (_GENERIC,) if others else _STORES
        if any(name not in takers for name in users) or not (others or len(users) == 1):
            return None
        steps = [dict(index_terms(m.results[-1])) for m in maps if len(m.results)]
        kept = [d for d in range(maps[0].n_dims) if d not in reduced]
        # The loop that is contiguous in the output, and in an input, is `n`; a transpose has none.
        columns = [d for d in kept if d in steps[-1] and any(s.get(d) == 1 for s in steps[:-1])]
        rows = [d for d in kept if d not in columns]
        groups = {"m": rows, "n": columns, "k": reduced}
        loops = {d: (loop_name(role, ds, d), role) for role, ds in groups.items() for d in ds}
        words = [*(f"in{at}" for at in range(len(inputs))), "out"]
        tensors = list(zip(words, maps, [*inputs, out], strict=True))
        return build_problem(self.name, root, tensors, loops, _traits(root, others))

    def match(self, spec: TuningSpec, op: Any) -> None:
        """By operand types, by the loops, and by what is around the op; not by what it computes."""
        from ..mlir import LOADS, match_loops, match_operands, match_producer, tensor_type

        problem = spec.problem
        types = [tensor_type(problem, operand) for operand in problem.operands]
        match_operands(op, problem.op, dict(enumerate(types)))
        # Where something is fused to it, fewer tiles compile.
        bare = not problem.fused
        loops, taker = [dim.parallel for dim in problem.dims], _STORES[1] if bare else _GENERIC
        # Of what is as small as the results, candidates may be too large for whole rows.
        small = dict(problem.traits).get("fused_row") == 1
        rank = len(problem.output.index) if small else None
        match_loops(op, loops, len(problem.inputs), taker, only=bare, taker_loops=rank)
        for place in range(len(problem.inputs)):
            match_producer(op, place, LOADS)

    def cpu_pipelines(self, problem: Problem) -> tuple[str, ...]:
        return ("DoubleTilingExpert",)


def _traits(root: Any, others: Sequence[Any]) -> tuple[tuple[str, int], ...]:
    """How many elements what is fused to it has for each of its own, at most, where it is known."""
    from iree.compiler import ir

    shapes = [ir.ShapedType(op.results[0].type) for op in (root, *others)]
    if not others or not all(shape.has_static_shape for shape in shapes):
        return ()
    own, *fused = (math.prod(shape.shape) for shape in shapes)
    return (("fused_row", -(-max(fused) // own)),)


def _is_tensor(value: Any) -> bool:
    from iree.compiler import ir

    return isinstance(value.type, ir.RankedTensorType)


def _is_projection(map_: Any) -> bool:
    """Whether each dim of the tensor is a loop of its own."""
    from iree.compiler import ir

    return all(isinstance(expr, ir.AffineDimExpr) for expr in map_.results) and _is_window(map_)


def _is_window(map_: Any) -> bool:
    """Whether each dim of the tensor is a loop of its own, or a sum of such loops."""
    from ..mlir import index_terms

    if not all(map(_is_sum, map_.results)):
        return False
    loops = [loop for expr in map_.results for loop, _ in index_terms(expr)]
    return len(set(loops)) == len(loops)


def _is_sum(expr: Any) -> bool:
    """Whether an index is a loop, or a sum of loops, each times a number."""
    from iree.compiler import ir

    if isinstance(expr, ir.AffineAddExpr):
        both = ir.AffineBinaryExpr(expr)
        return _is_sum(both.lhs) and _is_sum(both.rhs)
    if isinstance(expr, ir.AffineMulExpr):
        both = ir.AffineBinaryExpr(expr)
        factor = isinstance(both.rhs, ir.AffineConstantExpr)
        return factor and isinstance(both.lhs, ir.AffineDimExpr)
    return isinstance(expr, ir.AffineDimExpr)


def _is_loaded(value: Any) -> bool:
    from ..mlir import LOADS, maker

    op = maker(value)
    return op is not None and op.name in LOADS


def _is_arithmetic(root: Any) -> bool:
    """Whether it computes with what it is given, and reads no tensor by index."""
    inner = root.regions[0].blocks[0].operations
    return all(op.operation.name.startswith(("arith.", "math.", "linalg.yield")) for op in inner)


KIND = GenericKind()
