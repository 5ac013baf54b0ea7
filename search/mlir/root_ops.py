"""What kinds need to read a root op as a Problem: its loops, operands and neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import linalg

from ..problem import DYNAMIC, ELEMENT_BYTES, Dim, Operand, Problem
from .walking import walk

# Ops of a dispatch that compute something; the rest is plumbing (loads, constants, shapes).
_COMPUTE = ("linalg.", "iree_linalg_ext.", "tensor.pad", "tensor.pack", "tensor.unpack")
# What takes tensors out of buffers: the first where an op is configured, which is what is read, the
# second when specs are applied.
LOADS = ("iree_codegen.load_from_buffer", "iree_tensor_ext.dispatch.tensor.load")
_PLUMBING = ("linalg.fill", "linalg.yield", "linalg.index", "iree_linalg_ext.yield")


def build_problem(
    kind: str,
    root: ir.Operation,
    tensors: Sequence[tuple[str, Any, Any]],
    loops: Mapping[int, tuple[str, str]],
    traits: tuple[tuple[str, int], ...] = (),
) -> Problem | None:
    """A problem of a root op; None if it has an element type that is not known, or other loops.

    Of a loop that is `dynamic`, the size is not known.

    Args:
        tensors: name, indexing map and value of each operand, the output last, named `out`.
        loops: name and role of each loop, by its position.
    """
    sizes: dict[int, int] = {}
    operands = []
    for word, map_, value in tensors:
        shaped = ir.ShapedType(value.type)
        index = tuple(tuple(index_terms(e)) for e in map_.results)
        for terms, size in zip(index, shaped.shape, strict=True):
            if len(terms) == 1 and terms[0][1] == 1:
                sizes.setdefault(terms[0][0], size)
        dtype = str(shaped.element_type)
        if dtype not in ELEMENT_BYTES:
            return None
        operands.append(Operand(word, dtype, index, output=word == "out"))
    if set(sizes) != set(loops) or len(loops) != tensors[0][1].n_dims:
        return None
    dims = tuple(
        Dim(name, sizes[d], role, role != "k", sizes[d] == DYNAMIC)
        for d, (name, role) in sorted(loops.items())
    )
    fused = other_ops(root)
    if any(inner.name.startswith("math.") for op in fused for inner in walk(op)):
        traits = tuple(sorted((*traits, ("math", 1))))
    return Problem(kind, root.name, dims, tuple(operands), tuple(op.name for op in fused), traits)


def index_terms(expr: Any) -> Iterator[tuple[int, int]]:
    """An affine expression as (dim, coefficient) pairs."""
    if isinstance(expr, ir.AffineDimExpr):
        yield ir.AffineDimExpr(expr).position, 1
    elif isinstance(expr, ir.AffineAddExpr):
        both = ir.AffineBinaryExpr(expr)
        yield from index_terms(both.lhs)
        yield from index_terms(both.rhs)
    elif isinstance(expr, ir.AffineMulExpr):
        both = ir.AffineBinaryExpr(expr)
        factor = ir.AffineConstantExpr(both.rhs).value
        yield from ((d, c * factor) for d, c in index_terms(both.lhs))


def loop_name(stem: str, dims: Sequence[int], dim: int) -> str:
    """A loop's name: the stem, with a number where there are several."""
    return stem if len(dims) == 1 else f"{stem}{dims.index(dim)}"


def product_maps(root: ir.Operation) -> list[Any] | None:
    """The indexing maps of a linalg op with two inputs and an output; None if it is another op."""
    if not root.name.startswith("linalg."):
        return None
    maps = linalg.get_indexing_maps(root)
    if maps is None or len(root.results) != 1 or len(maps) != 3:
        return None
    return [ir.AffineMapAttr(m).value for m in maps]


def is_compute(op: ir.Operation) -> bool:
    """Whether an op computes something."""
    return op.name.startswith(_COMPUTE) and op.name not in _PLUMBING


def other_ops(root: ir.Operation) -> list[ir.Operation]:
    """What else its dispatch computes, in order."""
    ops = [op.operation for op in root.block.operations]
    return [op for op in ops if op != root and is_compute(op)]


def reductions(generic: ir.Operation) -> list[bool]:
    """For each loop of a `linalg.generic`, whether it is a reduction."""
    return ["reduction" in str(kind) for kind in generic.attributes["iterator_types"]]


def unknown_types(root: ir.Operation) -> list[str]:
    """Element types of what an op takes and gives that no problem has."""
    shaped = [v.type for v in (*root.operands, *root.results) if isinstance(v.type, ir.ShapedType)]
    types = dict.fromkeys(str(type_.element_type) for type_ in shaped)
    return [one for one in types if one not in ELEMENT_BYTES]


def describe_op(root: ir.Operation) -> str:
    """The op's name for messages; of a `linalg.generic`, also whether it is a reduction."""
    if root.name != "linalg.generic":
        return str(root.name)
    return f"linalg.generic ({'reduction' if any(reductions(root)) else 'elementwise'})"
