"""CPU spaces: tile sizes for each codegen pipeline, stated as Z3 constraints.

The compiler emits no constraints for CPUs, so these are ours. They keep what compiles and what can
win: bounds that only performance suggests are wide, and `SPACES.md` says how they were checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial

import z3

from .. import interchanged, unrolled
from ..dispatch import Dispatch
from ..kind import kind_of
from ..problem import Dim, Problem, Target
from ..space import Constraint, Knob, Space
from .configuration import parse, pipeline_of, render

# The compiler refuses vectors (and contractions over them) of this many native vectors or more.
MAX_NATIVE_VECTORS = 512
# Accumulators beyond this multiple of the register file only spill: no candidate above 2x was
# within 30 % of the best of its problem.
MAX_ACCUMULATOR_FILES = 4
# Vector operations that one tile unrolls to, each time it is written out: more take seconds to
# compile (16 s for a 48x64 matrix-vector tile on AVX2).
MAX_UNROLLED = 256
# The same where a window is unrolled, and nothing but products is in the tile: 3 s on AVX2.
MAX_UNROLLED_WINDOW = 1024
# Handing out a workgroup takes about a microsecond, in which a core does this many operations.
MIN_WORKGROUP_FLOPS = 1 << 16
MAX_VECTOR_TILE = 128
# The largest cache tile of a cached reduction that other ops are fused to.
FUSED_BYTES = 4 << 10
MAX_VECTOR_REDUCTION = 64


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
    knobs, constraints = _BUILDERS[pipeline](problem, target)
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
        tiles = _tiles(d.size)
        cache, vec = z3.Int(f"cache_{d.name}"), z3.Int(f"vec_{d.name}")
        if d.parallel:
            dist = z3.Int(f"dist_{d.name}")
            knobs += [Knob(f"dist_{d.name}", tiles), Knob(f"cache_{d.name}", tiles)]
            rules += _nesting_constraints(dist, cache, d)
        else:
            knobs.append(Knob(f"cache_{d.name}", tiles))
        knobs.append(Knob(f"vec_{d.name}", _vector_tiles(d, first)))
        rules += _nesting_constraints(cache, vec, d)
    knobs.append(Knob("peel", (0, 1)))
    left = [d.dynamic or _has_remainder(d, "dist", "cache") for d in problem.dims]
    useful = z3.Or(z3.Int("peel") == 1, *left)
    rules.append(Constraint("peeling does nothing where all tiles divide", useful, prunes=True))
    whole = z3.And([z3.Int(f"cache_{d.name}") == d.size for d in problem.dims if not d.parallel])
    tile = _product(z3.Int(f"cache_{d.name}") for d in problem.dims if d.parallel)
    limit = target.vector_bytes * MAX_NATIVE_VECTORS // problem.sum_bytes
    rules.append(
        Constraint(
            "a cached reduction clears its whole cache tile with one vector",
            z3.Or(whole, tile < limit),
            known_failure=True,
        )
    )
    in_l2 = _footprint(problem, "cache", reused=True) <= max(target.cache_bytes[:2])
    reason = "what a cached reduction reuses fits L2"
    rules.append(Constraint(reason, z3.Or(whole, in_l2), prunes=True))
    if problem.fused:
        # Ops fused to a cached reduction are not tiled to vectors, but to the cache tile, which
        # they unroll to: up to 4 KiB compile in 1 s, 7 in 3 to 5, 11 in over 20 (AVX2), and beyond
        # 8 some crash, since their stack is full. In 7 of 8 recordings the best has at most 4 KiB.
        reason = "what is fused to a cached reduction stays small"
        small = tile * problem.sum_bytes <= FUSED_BYTES
        rules.append(Constraint(reason, z3.Or(whole, small), prunes=True))
    rules += _common_constraints(problem, target)
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
    even = z3.Not(z3.Or([_has_remainder(d, "dist") for d in problem.dims]))
    rules.append(Constraint("a convolution's vector tiles leave no remainder", even, prunes=True))
    # Likewise: 2.3 to 18 times.
    whole = [d.size % z3.Int(f"dist_{d.name}") == 0 for d in problem.by_role("n")]
    reason = "workgroups share out a convolution's channels evenly"
    rules.append(Constraint(reason, z3.And(whole), prunes=True))
    rules += _common_constraints(problem, target)
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
                Knob(f"dist_{d.name}", _tiles(d.size)),
                Knob(f"vec_{d.name}", _vector_tiles(d, None)),
            ]
            rules += _nesting_constraints(z3.Int(f"dist_{d.name}"), _vec(d), d)
        else:
            knobs.append(Knob(f"vec_{d.name}", (d.size,)))
    parallel = [d for d in problem.dims if d.parallel]
    # What is left over is written out once more for each loop that leaves some: of 40 at random
    # (AVX2, 26 groups) those without compiled in 0.5 to 2.4 s, others in up to 54, or timed out.
    even = z3.Not(z3.Or([_has_remainder(d, "dist") for d in parallel]))
    rules.append(Constraint("vector tiles leave no remainder", even, prunes=True))
    accumulators = problem.sum_bytes * _product(_vec(d) for d in parallel)
    files = accumulators <= 2 * target.registers * target.vector_bytes
    rules.append(Constraint("accumulators fit the registers", files, prunes=True))
    products = accumulators * math.prod(d.size for d in problem.dims if not d.parallel)
    small = products <= target.vector_bytes * MAX_UNROLLED_WINDOW
    rules.append(Constraint("unrolled code stays small", small, prunes=True))
    return tuple(knobs), (*rules, *_full_vectors(problem, target), *_workgroups(problem, target))


def _attention(problem: Problem, target: Target) -> tuple[tuple[Knob, ...], tuple[Constraint, ...]]:
    """Workgroup and vector tiles.

    The head dim stays whole: the compiler tiles it without adding up the scores first, and the
    results are wrong (95 of 95 candidates, IREE 3.13).
    """
    knobs, rules = _one_level(problem)
    rules += _common_constraints(problem, target)
    return tuple(knobs), tuple(rules)


def _one_level(problem: Problem) -> tuple[list[Knob], list[Constraint]]:
    knobs: list[Knob] = []
    rules: list[Constraint] = []
    for d in problem.dims:
        vec = z3.Int(f"vec_{d.name}")
        if d.parallel:
            knobs.append(Knob(f"dist_{d.name}", _tiles(d.size)))
            rules += _nesting_constraints(z3.Int(f"dist_{d.name}"), vec, d)
        knobs.append(Knob(f"vec_{d.name}", _vector_tiles(d, kind_of(problem).first_reduction)))
    return knobs, rules


def _nesting_constraints(
    outer: z3.ArithRef, inner: z3.ArithRef, dim: Dim
) -> tuple[Constraint, Constraint]:
    """The inner tile divides the outer one, which may be ragged only where it is the whole dim."""
    divides = z3.Or(outer % inner == 0, outer == dim.size)
    return (
        Constraint(f"tiles of {dim.name} are no larger than what they divide", inner <= outer),
        Constraint(f"tiles of {dim.name} nest", divides, prunes=True),
    )


def _has_remainder(dim: Dim, *levels: str) -> z3.BoolRef:
    """Whether vector tiles leave a remainder: of the loop, or of a tile of one of the levels."""
    names = [level for level in levels if dim.parallel or level != "dist"]
    tiles = [z3.Int(f"{level}_{dim.name}") for level in names]
    return z3.Or([size % _vec(dim) != 0 for size in (z3.IntVal(dim.size), *tiles)])


def _common_constraints(problem: Problem, target: Target) -> list[Constraint]:
    """Constraints that all CPU pipelines share."""
    accumulator = problem.sum_bytes
    rules = []
    for skipped in kind_of(problem).excluded_loops:
        volume = accumulator * _product(_vec(d) for d in problem.dims if d.name != skipped)
        refused = volume < target.vector_bytes * MAX_NATIVE_VECTORS
        rules.append(Constraint("the compiler refuses large vectors", refused, known_failure=True))
        unrolled = volume <= target.vector_bytes * MAX_UNROLLED
        rules.append(Constraint("unrolled code stays small", unrolled, prunes=True))
    in_l1 = _footprint(problem, "vec") <= target.cache_bytes[0]
    rules.append(Constraint("the data of a vector tile fits L1", in_l1, prunes=True))
    accumulators = accumulator * _product(_vec(d) for d in problem.dims if d.parallel)
    fits = accumulators <= MAX_ACCUMULATOR_FILES * target.registers * target.vector_bytes
    rules.append(Constraint("accumulators fit the registers", fits, prunes=True))
    return [*rules, *_full_vectors(problem, target), *_workgroups(problem, target)]


def _full_vectors(problem: Problem, target: Target) -> list[Constraint]:
    """That some loop fills native vectors; the few values of a window fill none."""
    lanes = target.vector_bytes // problem.sum_bytes
    window = kind_of(problem).has_window
    loops = [d for d in _contiguous(problem) if d.parallel or not window]
    full = [_vec(d) % min(lanes, d.size) == 0 for d in loops]
    if window:
        # Wherever they are: with channels first, 8 or 16 of them by 14 columns are 1.46 times as
        # fast as the default (28x28, AVX-512), and vectors of columns 2.7 times slower than it.
        full += [_vec(d) % min(lanes // 2, d.size) == 0 for d in problem.by_role("n")]
    reason = "a contiguous loop, or a convolution's channels, fill native vectors"
    return [Constraint(reason, z3.Or(full), prunes=True)] if full else []


def _workgroups(problem: Problem, target: Target) -> list[Constraint]:
    """Constraints on workgroups: one per core at least, and none too small to be worth it."""
    parallel = [d for d in problem.dims if d.parallel]
    tiles = {d.name: z3.Int(f"dist_{d.name}") for d in parallel}
    workgroups = _product((d.size + tiles[d.name] - 1) / tiles[d.name] for d in parallel)
    cores = min(target.cores, math.prod(d.size for d in parallel))
    sizes = {d.name: tiles.get(d.name, z3.IntVal(d.size)) for d in problem.dims}
    skips = kind_of(problem).excluded_loops
    products = [_product(size for name, size in sizes.items() if name != skip) for skip in skips]
    flops = 2 * sum(products[1:], start=products[0])
    least = min(MIN_WORKGROUP_FLOPS, problem.flops // (4 * target.cores))
    return [
        Constraint("every core has work", workgroups >= cores, prunes=True),
        Constraint("a workgroup is worth handing out", flops >= least, prunes=True),
    ]


def _footprint(problem: Problem, level: str, *, reused: bool = False) -> z3.ArithRef:
    """Bytes of the operands that one tile of a level touches.

    Args:
        reused: leaves out operands of which every element is used once, such as the matrix of a
            matrix-vector product: they stream through any cache.
    """
    tiles = [z3.Int(f"{level}_{d.name}") for d in problem.dims]
    loops = {i for i, d in enumerate(problem.dims) if d.size > 1}
    parts = [z3.IntVal(0)]
    for operand in problem.operands:
        if reused and loops <= {d for terms in operand.index for d, _ in terms}:
            continue
        extents = [1 + sum(c * (tiles[d] - 1) for d, c in terms) for terms in operand.index]
        parts.append(_product(extents) * operand.bytes_per_element)
    return sum(parts[1:], start=parts[0])


def _contiguous(problem: Problem) -> list[Dim]:
    """The loops along which some operand's elements follow each other in memory."""
    last = {o.index[-1][0][0] for o in problem.operands if o.index}
    return [d for i, d in enumerate(problem.dims) if i in last and d.size > 1]


def _vec(dim: Dim) -> z3.ArithRef:
    return z3.Int(f"vec_{dim.name}")


def _product(factors: Iterable[z3.ArithRef]) -> z3.ArithRef:
    return math.prod(list(factors), start=z3.IntVal(1))


def _tiles(size: int) -> tuple[int, ...]:
    """Powers of two, three times those, the halves to eighths of the size, and the size itself."""
    found = {size} | {math.ceil(size / parts) for parts in range(2, 9)}
    for base in (1, 3):
        found |= {base << shift for shift in range(size.bit_length()) if base << shift < size}
    return tuple(sorted(found))


def _vector_tiles(dim: Dim, whole: str | None) -> tuple[int, ...]:
    """
    Args:
        whole: the loop that is not tiled, if any.
    """
    if dim.role == "batch":
        return (1,)
    if dim.name == whole:
        return (dim.size,)
    limit = MAX_VECTOR_TILE if dim.parallel else MAX_VECTOR_REDUCTION
    return tuple(t for t in range(1, min(dim.size, limit) + 1) if _vectorisable(t, dim.size))


def _vectorisable(tile: int, size: int) -> bool:
    """The size itself, powers of two, three times those, and 5, 7, 10 and 14."""
    odd = tile // (tile & -tile)
    return tile == size or odd in (1, 3) or (odd in (5, 7) and tile <= 16)


_BUILDERS = {
    "DoubleTilingExpert": _double_tiling,
    "ConvTileAndDecomposeExpert": _conv_decompose,
    "LinalgExtTileAndVectorize": _attention,
    unrolled.PIPELINE: _unrolled_window,
    interchanged.PIPELINE: _double_tiling,
}
