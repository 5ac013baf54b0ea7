"""CPU spaces: tile sizes for each codegen pipeline, stated as Z3 constraints.

The compiler emits no constraints for CPUs, so these are ours. They keep what compiles and what can
win: bounds that only performance suggests are wide, and `SPACES.md` says how they were checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import z3

from .. import interchanged, tiled_operands, unrolled
from ..dispatch import Dispatch
from ..kind import kind_of
from ..problem import Problem, Target
from ..space import Constraint, Knob, Space
from .configuration import parse, pipeline_of, render
from .rules import (
    MAX_NATIVE_VECTORS,
    common_constraints,
    even_constraints,
    footprint,
    has_remainder,
    nesting_constraints,
    product,
    tile_sizes,
    use_constraints,
    vec_tile,
    vector_tile_sizes,
)

# As `MAX_UNROLLED`, where a window is unrolled, and nothing but products is in the tile: 3 s to
# compile on AVX2.
MAX_UNROLLED_WINDOW = 1024
# As `MAX_UNROLLED`, of what is fused to a reduction: 16 rows of 384 take 4 s to compile, and 20
# with peeling (AVX-512).
MAX_UNROLLED_FUSED = 128
# Of a loop over tiles of operands, so many are in a vector tile.
TILES_PER_STEP = (1, 2, 4, 8)
# The largest cache tile of a cached reduction that other ops are fused to.
FUSED_BYTES = 4 << 10


def cpu_spaces(dispatch: Dispatch) -> Mapping[str, Callable[[], Space]]:
    """By pipeline that can lower the dispatch: what makes its space."""
    problem = dispatch.problem
    return {
        p: partial(build, problem, dispatch.target, p, dispatch.default)
        for p in kind_of(problem).cpu_pipelines(problem)
    }


def build(problem: Problem, target: Target, pipeline: str, default: str = "") -> Space:
    """The space of a pipeline for a problem that it can lower: see `Kind.cpu_pipelines`.

    Args:
        default: the compiler's own configuration, which is a candidate if it is of the pipeline.
    """
    own = parse(problem, default) if pipeline_of(default) == pipeline else None
    problem = interchanged.compiled_problem(problem, pipeline)
    builder = _memory_bound if kind_of(problem).memory_bound else _BUILDERS[pipeline]
    knobs, constraints = builder(problem, target)
    space = Space(problem, target, pipeline, knobs, constraints, _renderer(problem, pipeline))
    return space if own is None else space.with_default(own, default)


def _renderer(problem: Problem, pipeline: str) -> Callable[[Mapping[str, int]], str]:
    if pipeline == unrolled.PIPELINE:
        return partial(unrolled.render, problem)
    if pipeline == interchanged.PIPELINE:
        return partial(_render_interchanged, problem)
    return partial(render, problem, pipeline)


def _render_interchanged(problem: Problem, candidate: Mapping[str, int]) -> str:
    return f"{render(problem, 'DoubleTilingExpert', candidate)}\n{interchanged.MARK}"


def _double_tiling(
    problem: Problem, target: Target
) -> tuple[tuple[Knob, ...], tuple[Constraint, ...]]:
    """Workgroup, cache and vector tiles for every loop; loops that do not divide are peeled."""
    knobs: list[Knob] = []
    rules: list[Constraint] = []
    first = kind_of(problem).first_reduction
    for d in problem.dims:
        tiles = tile_sizes(d.size)
        cache, vec = z3.Int(f"cache_{d.name}"), z3.Int(f"vec_{d.name}")
        if d.parallel:
            dist = z3.Int(f"dist_{d.name}")
            knobs += [Knob(f"dist_{d.name}", tiles), Knob(f"cache_{d.name}", tiles)]
            rules += nesting_constraints(dist, cache, d)
        else:
            knobs.append(Knob(f"cache_{d.name}", tiles))
        knobs.append(Knob(f"vec_{d.name}", vector_tile_sizes(d, first)))
        rules += nesting_constraints(cache, vec, d)
    knobs.append(Knob("peel", (0, 1)))
    rules.append(_peeling_constraint(problem, "dist", "cache"))
    whole = z3.And([z3.Int(f"cache_{d.name}") == d.size for d in problem.dims if not d.parallel])
    tile = product(z3.Int(f"cache_{d.name}") for d in problem.dims if d.parallel)
    limit = target.vector_bytes * MAX_NATIVE_VECTORS // problem.sum_bytes
    rules.append(
        Constraint(
            "a cached reduction clears its whole cache tile with one vector",
            z3.Or(whole, tile < limit),
            known_failure=True,
        )
    )
    in_l2 = footprint(problem, "cache", reused=True) <= max(target.cache_bytes[:2])
    reason = "what a cached reduction reuses fits L2"
    rules.append(Constraint(reason, z3.Or(whole, in_l2), prunes=True))
    if problem.fused:
        # Ops fused to a cached reduction are not tiled to vectors, but to the cache tile, which
        # they unroll to: up to 4 KiB compile in 1 s, 7 in 3 to 5, 11 in over 20 (AVX2), and beyond
        # 8 some crash, since their stack is full. In 7 of 8 recordings the best has at most 4 KiB.
        reason = "what is fused to a cached reduction stays small"
        small = tile * problem.sum_bytes <= FUSED_BYTES
        rules.append(Constraint(reason, z3.Or(whole, small), prunes=True))
    rules += common_constraints(problem, target, knobs)
    return tuple(knobs), tuple(rules)


def _conv_decompose(
    problem: Problem, target: Target
) -> tuple[tuple[Knob, ...], tuple[Constraint, ...]]:
    """Workgroup and vector tiles; a 2-d convolution must come down to a 1-d one."""
    knobs, rules = _one_level(problem)
    rows = z3.And(z3.Int("vec_oh") == 1, z3.Int("vec_fh") == 1)
    columns = z3.And(z3.Int("vec_ow") == 1, z3.Int("vec_fw") == 1)
    reason = "one image dim is unrolled to a 1-d convolution"
    rules.append(Constraint(reason, z3.Or(rows, columns), known_failure=True))
    # Best of those with a remainder: 2.5 to 28 times slower than the best without, on AVX2 and
    # AVX-512 (13 recordings), since what is left is computed one value at a time.
    rules += even_constraints(problem.dims, "a convolution's vector tiles")
    # Likewise: 2.3 to 18 times.
    left = {knob.name: knob for knob in knobs}
    for d in problem.by_role("n"):
        knob = left[f"dist_{d.name}"]
        reason = f"workgroups share out a convolution's channels {d.name} evenly"
        whole = d.size % z3.Int(knob.name) == 0
        rules.append(Constraint(reason, whole, prunes=True))
        left[knob.name] = replace(knob, values=tuple(v for v in knob.values if d.size % v == 0))
    rules += common_constraints(problem, target, [*left.values()], even=True)
    return tuple(knobs), tuple(rules)


def _unrolled_window(
    problem: Problem, target: Target
) -> tuple[tuple[Knob, ...], tuple[Constraint, ...]]:
    """Workgroup and vector tiles of the output; the whole reduction is in each vector tile."""
    knobs: list[Knob] = []
    rules: list[Constraint] = []
    for d in problem.dims:
        if d.parallel:
            knobs += [
                Knob(f"dist_{d.name}", tile_sizes(d.size)),
                Knob(f"vec_{d.name}", vector_tile_sizes(d, None)),
            ]
            rules += nesting_constraints(z3.Int(f"dist_{d.name}"), vec_tile(d), d)
        else:
            knobs.append(Knob(f"vec_{d.name}", (d.size,)))
    parallel = [d for d in problem.dims if d.parallel]
    # What is left over is written out once more for each loop that leaves some: of 40 at random
    # (AVX2, 26 groups) those without compiled in 0.5 to 2.4 s, others in up to 54, or timed out.
    rules += even_constraints(parallel)
    accumulators = problem.sum_bytes * product(vec_tile(d) for d in parallel)
    files = accumulators <= 2 * target.registers * target.vector_bytes
    rules.append(Constraint("accumulators fit the registers", files, prunes=True))
    products = accumulators * math.prod(d.size for d in problem.dims if not d.parallel)
    small = products <= target.vector_bytes * MAX_UNROLLED_WINDOW
    rules.append(Constraint("unrolled code stays small", small, prunes=True))
    return tuple(knobs), (*rules, *use_constraints(problem, target, knobs, even=True))


def _tiled_operands(
    problem: Problem, target: Target
) -> tuple[tuple[Knob, ...], tuple[Constraint, ...]]:
    """Workgroup and vector tiles of the loops over tiles, each of which is whole in a vector."""
    knobs: list[Knob] = []
    rules: list[Constraint] = []
    inner = tiled_operands.inner_loops(problem)
    for d in problem.dims:
        whole = d.name in inner
        if d.parallel:
            knobs.append(Knob(f"dist_{d.name}", (d.size,) if whole else tile_sizes(d.size)))
            rules += nesting_constraints(z3.Int(f"dist_{d.name}"), vec_tile(d), d)
        steps = [step for step in TILES_PER_STEP if step <= d.size and d.role != "batch"]
        knobs.append(Knob(f"vec_{d.name}", (d.size,) if whole else tuple(steps or [1])))
    rules += common_constraints(problem, target, knobs)
    return tuple(knobs), tuple(rules)


def _attention(problem: Problem, target: Target) -> tuple[tuple[Knob, ...], tuple[Constraint, ...]]:
    """Workgroup and vector tiles.

    The head dim stays whole: the compiler tiles it without adding up the scores first, and the
    results are wrong (95 of 95 candidates, IREE 3.13).
    """
    knobs, rules = _one_level(problem)
    rules += common_constraints(problem, target, knobs)
    return tuple(knobs), tuple(rules)


def _memory_bound(
    problem: Problem, target: Target
) -> tuple[tuple[Knob, ...], tuple[Constraint, ...]]:
    """Workgroup and vector tiles: what is read once needs no tiles for caches."""
    knobs, rules = _one_level(problem)
    knobs.append(Knob("peel", (0, 1)))
    rules.append(_peeling_constraint(problem, "dist"))
    if problem.fused and any(not d.parallel for d in problem.dims):
        # What is fused to a reduction has the rows of its tile, and as a vector all of each row.
        rows = product(vec_tile(d) for d in problem.dims if d.parallel)
        longest = math.prod(d.size for d in problem.dims if not d.parallel)
        row = problem.sum_bytes * dict(problem.traits).get("fused_row", longest)
        small = rows * row < target.vector_bytes * MAX_NATIVE_VECTORS
        reason = "the compiler refuses large vectors of what is fused"
        rules.append(Constraint(reason, small, known_failure=True))
        short = z3.Or(rows == 1, rows * row <= target.vector_bytes * MAX_UNROLLED_FUSED)
        rules.append(Constraint("unrolled code of what is fused is small", short, prunes=True))
    rules += common_constraints(problem, target, knobs)
    return tuple(knobs), tuple(rules)


def _peeling_constraint(problem: Problem, *levels: str) -> Constraint:
    # Where all tiles divide, it changes nothing. Where only workgroups leave a remainder, vectors
    # are masked without it: 1.0 to 2.3 times as slow (eight products, medians of 40 pairs each).
    left = [d.dynamic or has_remainder(d, *levels) for d in problem.dims]
    useful = z3.Or(z3.Int("peel") == 1, *left)
    reason = "peeling is off only where vector tiles leave a remainder"
    return Constraint(reason, useful, prunes=True)


def _one_level(problem: Problem) -> tuple[list[Knob], list[Constraint]]:
    knobs: list[Knob] = []
    rules: list[Constraint] = []
    for d in problem.dims:
        vec = z3.Int(f"vec_{d.name}")
        if d.parallel:
            knobs.append(Knob(f"dist_{d.name}", tile_sizes(d.size)))
            rules += nesting_constraints(z3.Int(f"dist_{d.name}"), vec, d)
        knobs.append(Knob(f"vec_{d.name}", vector_tile_sizes(d, kind_of(problem).first_reduction)))
    return knobs, rules


_BUILDERS = {
    "DoubleTilingExpert": _double_tiling,
    "ConvTileAndDecomposeExpert": _conv_decompose,
    "LinalgExtTileAndVectorize": _attention,
    unrolled.PIPELINE: _unrolled_window,
    interchanged.PIPELINE: _double_tiling,
    tiled_operands.PIPELINE: _tiled_operands,
}
