"""Convolutions whose window is unrolled: one product for each of its points, all in one tile.

The compiler vectorises convolutions of one group in one and two image dims, and depthwise ones of
channels last, and leaves others in scalar loops, however they are tiled. Before it is tiled, the
tuning spec makes one product of each point of the window, added to the one before, and these the
compiler fuses and vectorises: see `search.mlir.unrolling`. 26 groups of 8x8 channels, 14x14, 3x3
(Zen 3, two cores) take 934 us by default, 834 with the best of 48 tilings, and 146 so. Products of
a depthwise convolution sum nothing: they become one elementwise op, together with what follows.

All of the reduction is in one vector tile, so that accumulators stay in registers. With loops over
input channels they go to memory and back: 64x64 channels, 28x28 took 4.3 ms at best, where the
pipeline for 2-d convolutions takes 0.6.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from .problem import Dim, Problem

PIPELINE = "UnrolledWindow"
# The second line of a configuration: what the spec does before it is attached.
MARK = '"unrolled window"'
# Input channels times points of the window: of more, code grows beyond what compiles in seconds.
MAX_TERMS = 256


def window_of(problem: Problem) -> tuple[Dim, ...]:
    """The loops over the window, but for those that run once."""
    return tuple(d for d in (problem.dims[i] for i in problem.window_loops) if not d.runs_once)


def can_unroll(problem: Problem) -> bool:
    """Whether there is a window, and few enough terms are summed.

    Where the window is one point along a dim that is strided, the compiler folds that loop, and
    sees no convolution any more.
    """
    terms = math.prod(d.size for d in problem.dims if not d.parallel)
    taps = math.prod(d.size for d in window_of(problem))
    folded = any(
        len(index) == 2
        and any(problem.dims[loop].runs_once for loop, _ in index)
        and any(step > 1 and not problem.dims[loop].runs_once for loop, step in index)
        for operand in problem.inputs
        for index in operand.index
    )
    return taps > 1 and terms <= MAX_TERMS and not folded


def is_elementwise(problem: Problem) -> bool:
    """Whether nothing is summed over but the window, as in a depthwise convolution."""
    return all(d.parallel or d.runs_once or d in window_of(problem) for d in problem.dims)


def render(problem: Problem, candidate: Mapping[str, int]) -> str:
    """A candidate as a configuration of the last product, whose loops are the remaining ones."""
    loops = remaining_loops(problem)

    def level(prefix: str, parallel: bool) -> list[int]:
        return [candidate[f"{prefix}_{d.name}"] if d.parallel == parallel else 0 for d in loops]

    sizes = [
        tile if tile < d.size or d.dynamic else 0
        for tile, d in zip(level("dist", True), loops, strict=True)
    ]
    return (
        f"#iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<"
        f"distribution = {sizes}, vector_common_parallel = {level('vec', True)}, "
        f"vector_reduction = {level('vec', False)}>, translation_info = "
        f"#iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, "
        f"{{enable_loop_peeling}}>>\n{MARK}"
    )


def remaining_loops(problem: Problem) -> tuple[Dim, ...]:
    """Those that the compiler leaves of each product: it folds what runs once."""
    window = window_of(problem)
    if is_elementwise(problem):
        # The products are fused to what follows, which reads them in this order.
        stored = (problem.dims[terms[0][0]] for terms in problem.output.index)
        return tuple(d for d in stored if not d.runs_once)
    return tuple(d for d in problem.dims if not d.runs_once and d not in window)
