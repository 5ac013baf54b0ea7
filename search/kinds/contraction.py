"""Products of matrices and what is like them: any number of batch dims, any layout, vectors too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..interchanged import PIPELINE as INTERCHANGED
from ..interchanged import can_interchange
from ..kind import Kind
from ..problem import Problem
from ..tiled_operands import PIPELINE as TILED_OPERANDS
from ..tiled_operands import has_tiled_operands

if TYPE_CHECKING:
    from ..spec import TuningSpec


class ContractionKind(Kind):
    name = "contraction"
    plural = "contractions"
    sums_products = True
    has_encodings = True

    def read(self, root: Any) -> Problem | None:
        from iree.compiler.dialects import linalg

        from ..mlir import build_problem, loop_name, product_maps

        maps = product_maps(root)
        if maps is None or not linalg.isa_contraction_op(root):
            return None
        found = linalg.infer_contraction_dimensions(root)
        roles = {"batch": found.batch, "m": found.m, "n": found.n, "k": found.k}
        loops = {d: (loop_name(r, list(ds), d), r) for r, ds in roles.items() for d in ds}
        tensors = list(zip(("lhs", "rhs", "out"), maps, list(root.operands)[:3], strict=True))
        return build_problem(self.name, root, tensors, loops)

    def match(self, spec: TuningSpec, op: Any) -> None:
        from iree.compiler.dialects.preprocessing_transform import MatchContractionOp

        from ..mlir import match_product

        problem = spec.problem
        sizes = [
            [d.matched_size for d in problem.by_role(role)] for role in ("batch", "m", "n", "k")
        ]
        match_product(MatchContractionOp, op, problem, spec.indexing_maps, sizes)

    def cpu_pipelines(self, problem: Problem) -> tuple[str, ...]:
        if has_tiled_operands(problem):
            return (TILED_OPERANDS,)
        pipelines = ("DoubleTilingExpert",)
        return (*pipelines, INTERCHANGED) if can_interchange(problem) else pipelines


KIND = ContractionKind()
