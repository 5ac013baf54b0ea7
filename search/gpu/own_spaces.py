"""GPU spaces of our own, for dispatches that the compiler emits no constraints for.

IREE 3.13 crashes while it emits them for batch matmuls, grouped convolutions and matrix-vector
products, and emits none where no matrix instruction fits, nor for attention on NVIDIA. Five
families cover these:

| pipeline | lowers | what |
| --- | --- | --- |
| `TileAndFuse` | contractions | matrix instructions (`mma`) |
| `TileAndFuse-igemm` | convolutions | the same, on the matmul that the convolution becomes |
| `TileAndFuse-simt` | contractions, convolutions | a tile per thread (`simt`) |
| `VectorDistribute` | contractions with few rows | a reduction shared by lanes (`reduction`) |
| `VectorDistribute-attention` | attention | matrix instructions (`attention`) |
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..kind import kind_of
from ..problem import Problem, Target
from ..space import Space
from . import attention, mma, reduction, simt
from .chosen import ChosenConfig
from .columns import intrinsics

# Rows (or columns) that the compiler thinks too few for an instruction, and those up to which a
# shared reduction is worth a try.
VERY_SKINNY = 4
SKINNY = 8

# What builds a pipeline's space, and what reads a configuration as one of its candidates.
_FAMILIES = {
    "TileAndFuse": (mma.build, mma.knobs_of),
    "TileAndFuse-igemm": (mma.build, mma.knobs_of),
    "TileAndFuse-simt": (simt.build, simt.knobs_of),
    "VectorDistribute": (reduction.build, reduction.knobs_of),
    "VectorDistribute-attention": (attention.build, attention.knobs_of),
}


def pipelines(problem: Problem, target: Target) -> tuple[str, ...]:
    """The pipelines that can lower a problem, the most promising first."""
    if kind_of(problem).chained:
        fits = problem.by_role("m") and attention.intrinsics(problem, target)
        return ("VectorDistribute-attention",) if fits else ()
    if len(problem.operands) != 3 or not problem.by_role("m", "n"):
        return ()
    rows, columns = (math.prod(d.size for d in problem.by_role(r)) for r in ("m", "n"))
    fewest = min(rows, columns)
    multiplies = bool(intrinsics(problem, target))
    if kind_of(problem).has_window:
        matmul = multiplies and mma.as_matmul(problem, igemm=True) is not None
        return ("TileAndFuse-igemm",) if matmul else ("TileAndFuse-simt",)
    found = []
    if multiplies and fewest > VERY_SKINNY:
        found.append("TileAndFuse")
    if fewest <= SKINNY:
        found.append("VectorDistribute")
    if not multiplies or fewest <= SKINNY:
        found.append("TileAndFuse-simt")
    return tuple(found)


def build(
    problem: Problem,
    target: Target,
    pipeline: str,
    extras: Mapping[str, tuple[int, ...]],
) -> Space:
    """The space of a pipeline for a problem; see `pipelines` for those that can lower it.

    Args:
        extras: values of knobs that the compiler pins, by name (`extras.EXTRA_KNOBS`); those that
            do nothing in the pipeline are left out.
    """
    builder, _ = _FAMILIES[pipeline]
    return builder(problem, target, pipeline, extras)


def knobs_of(
    problem: Problem, target: Target, pipeline: str, chosen: ChosenConfig
) -> dict[str, int] | None:
    """The candidate of a pipeline's space that a configuration is; None if it is none of it."""
    if chosen.igemm != pipeline.endswith("-igemm"):
        return None
    _, reader = _FAMILIES[pipeline]
    return reader(problem, target, chosen)
