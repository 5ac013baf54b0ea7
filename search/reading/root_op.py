"""The child's side of reading a dispatch: a root op as a Problem."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen, linalg

from ...core import InputError
from ..problem import BYTES, Dim, Operand, Problem

# Ops of a dispatch that compute something; the rest is plumbing (loads, constants, shapes).
_COMPUTE = ("linalg.", "iree_linalg_ext.", "tensor.pad", "tensor.pack", "tensor.unpack")
_PLUMBING = ("linalg.fill", "linalg.yield", "linalg.index", "iree_linalg_ext.yield")


def problem_of(root: ir.Operation) -> Problem | None:
    """The root op as a Problem; None where it is not of a kind that is tuned."""
    if root.name == "iree_linalg_ext.online_attention":
        return _attention(root)
    if not root.name.startswith("linalg."):
        return None
    maps = linalg.get_indexing_maps(root)
    if maps is None or len(root.results) != 1:
        return None
    affine = [ir.AffineMapAttr(m).value for m in maps]
    if linalg.isa_contraction_op(root) and len(affine) == 3:
        found = linalg.infer_contraction_dimensions(root)
        roles = {"batch": found.batch, "m": found.m, "n": found.n, "k": found.k}
        names = {d: _numbered(r, list(ds), d) for r, ds in roles.items() for d in ds}
        by_dim = {d: r for r, ds in roles.items() for d in ds}
        return _build("contraction", root, affine, names, by_dim)
    if linalg.isa_convolution_op(root) and len(affine) == 3:
        conv = linalg.infer_convolution_dimensions(root)
        if not conv or not (len(conv.output_channel) or len(conv.depth)):
            return None  # pooling: a convolution to the compiler, with nothing to multiply
        if not len(conv.input_channel) and not len(conv.depth):
            return None
        letters = ("d", "h", "w")
        names, by_dim = {}, {}
        for i, d in enumerate(conv.batch):
            names[d], by_dim[d] = f"batch{i or ''}", "m"
        for prefix, dims, role in (("o", conv.output_image, "m"), ("f", conv.filter_loop, "k")):
            for i, d in enumerate(dims):
                names[d], by_dim[d] = prefix + letters[i + 3 - len(dims)], role
        for stem, dims, role in (
            ("oc", conv.output_channel, "n"),
            ("ic", conv.input_channel, "k"),
            # Alone it is vectorised like an output channel; beside one it counts groups.
            ("c" if not len(conv.output_channel) else "g", conv.depth, "n"),
        ):
            for i, d in enumerate(dims):
                names[d], by_dim[d] = f"{stem}{i or ''}", role
                if stem == "g":
                    by_dim[d] = "batch"
        traits = (
            ("depthwise", int(not len(conv.output_channel))),
            ("dilation", max(conv.dilations, default=1)),
            ("grouped", int(bool(len(conv.depth) and len(conv.output_channel)))),
            ("stride", max(conv.strides, default=1)),
        )
        return _build("convolution", root, affine, names, by_dim, traits)
    return None


def _attention(root: ir.Operation) -> Problem | None:
    maps = [ir.AffineMapAttr(m).value for m in ir.ArrayAttr(root.attributes["indexing_maps"])]
    # query, key, value, scale, [mask], then output, max, sum
    query, key, value, output = maps[0], maps[1], maps[2], maps[-3]
    detail = iree_codegen.get_attention_op_detail(query, key, value, output)
    roles = {
        "batch": (detail.batch_dims, "batch"),
        "m": (detail.m_dims, "m"),
        "n": (detail.n_dims, "n"),
        "k1": (detail.k1_dims, "k"),
        "k2": (detail.k2_dims, "k"),
    }
    # A single query, as of a decoder's step, has no rows.
    if len(detail.m_dims) > 1 or any(len(roles[stem][0]) != 1 for stem in ("n", "k1", "k2")):
        return None
    names = {d: _numbered(s, list(ds), d) for s, (ds, _) in roles.items() for d in ds}
    by_dim = {d: role for ds, role in roles.values() for d in ds}
    operands = [root.operands[i] for i in (0, 1, 2, len(maps) - 3)]
    names_of = ("query", "key", "value", "out")
    masked = (("masked", int(len(maps) == 8)),)
    chosen = [query, key, value, output]
    return _assemble("attention", root, chosen, operands, names_of, names, by_dim, masked)


def _build(
    kind: str,
    root: ir.Operation,
    maps: list[Any],
    names: dict[int, str],
    roles: dict[int, str],
    traits: tuple[tuple[str, int], ...] = (),
) -> Problem | None:
    words = ("lhs", "rhs", "out")
    return _assemble(kind, root, maps, list(root.operands)[:3], words, names, roles, traits)


def _assemble(
    kind: str,
    root: ir.Operation,
    maps: list[Any],
    values: list[Any],
    words: tuple[str, ...],
    names: dict[int, str],
    roles: dict[int, str],
    traits: tuple[tuple[str, int], ...],
) -> Problem | None:
    sizes: dict[int, int] = {}
    operands = []
    for word, map_, value in zip(words, maps, values, strict=True):
        shaped = ir.ShapedType(value.type)
        if not shaped.has_static_shape:
            raise InputError(
                f"{words_of(root)} has a dynamic shape ({shaped}); tuning needs static sizes",
                "replace each ? by the size that you run",
            )
        index = tuple(tuple(_terms(e)) for e in map_.results)
        for terms, size in zip(index, shaped.shape, strict=True):
            if len(terms) == 1 and terms[0][1] == 1:
                sizes.setdefault(terms[0][0], size)
        dtype = str(shaped.element_type)
        if dtype not in BYTES:
            return None
        operands.append(Operand(word, dtype, index, output=word == "out"))
    if set(sizes) != set(names) or len(names) != maps[0].n_dims:
        return None
    dims = tuple(Dim(names[d], sizes[d], roles[d], parallel=roles[d] != "k") for d in sorted(names))
    return Problem(kind, root.name, dims, tuple(operands), _fused(root), traits)


def _terms(expr: Any) -> Iterator[tuple[int, int]]:
    """An affine expression as (dim, coefficient) pairs."""
    if isinstance(expr, ir.AffineDimExpr):
        yield ir.AffineDimExpr(expr).position, 1
    elif isinstance(expr, ir.AffineAddExpr):
        both = ir.AffineBinaryExpr(expr)
        yield from _terms(both.lhs)
        yield from _terms(both.rhs)
    elif isinstance(expr, ir.AffineMulExpr):
        both = ir.AffineBinaryExpr(expr)
        factor = ir.AffineConstantExpr(both.rhs).value
        yield from ((d, c * factor) for d, c in _terms(both.lhs))


def _numbered(stem: str, dims: list[int], dim: int) -> str:
    return stem if len(dims) == 1 else f"{stem}{dims.index(dim)}"


def _fused(root: ir.Operation) -> tuple[str, ...]:
    others = (op.operation for op in root.block.operations if op.operation != root)
    return tuple(op.name for op in others if is_compute(op))


def is_compute(op: ir.Operation) -> bool:
    return op.name.startswith(_COMPUTE) and op.name not in _PLUMBING


def words_of(root: ir.Operation) -> str:
    """The op's name; a generic op is told by its loops."""
    if root.name != "linalg.generic":
        return str(root.name)
    reduces = "reduction" in str(root.attributes["iterator_types"])
    return f"linalg.generic ({'reduction' if reduces else 'elementwise'})"
