"""A codegen pipeline of one's own: square workgroup tiles, and two knobs in place of eight.

Install the package, and its candidates are there:

    pip install examples/square_tiles
    frontrunner space examples/matmul_skinny.mlir --pipeline SquareTiles
    frontrunner tune examples/matmul_skinny.mlir --pipeline SquareTiles
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import z3

from frontrunner.search import Constraint, Knob, Pipeline, Problem, Target

tile, columns = z3.Ints("tile columns")


class SquareTiles(Pipeline):
    """Workgroups of `tile` by `tile`, in vectors of 4 rows by `columns`."""

    name = "SquareTiles"
    backend = "llvm-cpu"

    def knobs(self, problem: Problem, target: Target) -> Sequence[Knob]:
        if problem.kind != "contraction" or len(problem.dims) != 3:
            return ()
        return Knob("tile", (8, 16, 32, 64, 128)), Knob("columns", (4, 8, 16, 32))

    def constraints(self, problem: Problem, target: Target) -> Sequence[Constraint]:
        return (
            Constraint("vectors divide the tile", tile % columns == 0),
            Constraint(
                "tiles are no larger than the problem",
                z3.And([tile <= max(4, d.size) for d in problem.dims if d.parallel]),
            ),
        )

    def derived(self, problem: Problem, target: Target) -> Sequence[tuple[str, z3.ArithRef]]:
        """In the words of the backend's own spaces, so that rankers know what they see."""
        m, n, k = (d.name for d in problem.dims)
        return (
            (f"dist_{m}", tile), (f"dist_{n}", tile), (f"vec_{m}", z3.IntVal(4)),
            (f"vec_{n}", columns), (f"vec_{k}", z3.IntVal(1)),
        )  # fmt: skip

    def render(self, problem: Problem, candidate: Mapping[str, int]) -> str:
        size, width = candidate["tile"], candidate["columns"]
        return (
            "#iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<"
            f"distribution = [{size}, {size}, 0], vector_common_parallel = [4, {width}, 0], "
            "vector_reduction = [0, 0, 1]>, translation_info = #iree_codegen.translation_info<"
            "pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>"
        )
