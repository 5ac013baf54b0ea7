"""Attention: two products, of which the second one reads the softmax of the first one's scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..kind import Kind
from ..problem import Problem

if TYPE_CHECKING:
    from ..spec import TuningSpec


class AttentionKind(Kind):
    name = "attention"
    plural = "attention"
    excluded_loops = ("n", "k1")
    output_scale = 1.0
    matched_whole = True

    def read(self, root: Any) -> Problem | None:
        if root.name != "iree_linalg_ext.online_attention":
            return None
        from iree.compiler import ir
        from iree.compiler.dialects import iree_codegen

        from ..mlir import build_problem, loop_name

        maps = [ir.AffineMapAttr(m).value for m in ir.ArrayAttr(root.attributes["indexing_maps"])]
        # query, key, value, scale, [mask], then output, max, sum
        chosen = (0, 1, 2, len(maps) - 3)
        detail = iree_codegen.get_attention_op_detail(*(maps[i] for i in chosen))
        roles = {
            "batch": (detail.batch_dims, "batch"),
            "m": (detail.m_dims, "m"),
            "n": (detail.n_dims, "n"),
            "k1": (detail.k1_dims, "k"),
            "k2": (detail.k2_dims, "k"),
        }
        # A single query, as of a decoder's step, has no rows.
        if any(len(roles[stem][0]) != 1 for stem in ("n", "k1", "k2")):
            return None
        loops = {
            d: (loop_name(stem, list(ds), d), role)
            for stem, (ds, role) in roles.items()
            for d in ds
        }
        words = ("query", "key", "value", "out")
        tensors = [(w, maps[i], root.operands[i]) for w, i in zip(words, chosen, strict=True)]
        masked = (("masked", int(len(maps) == 8)),)
        return build_problem(self.name, root, tensors, loops, masked)

    def match(self, spec: TuningSpec, op: Any) -> None:
        """As a whole: tiles are of loops, whose order operand types do not tell.

        Another order of the same operands would take other loops' tiles, and compute other values.
        `transform.iree.match.attention` does not match on CPUs, nor anything that has a mask.
        """
        from ..mlir import match_whole_op

        match_whole_op(op, spec.root, spec.problem)

    def summed_loops(self, problem: Problem) -> tuple[tuple[int, ...], ...]:
        at = {dim.name: place for place, dim in enumerate(problem.dims)}
        return () if ("masked", 1) in problem.traits else ((at["k2"],), (at["k1"],))

    def cpu_pipelines(self, problem: Problem) -> tuple[str, ...]:
        return ("LinalgExtTileAndVectorize",)


KIND = AttentionKind()
