"""What spaces for CPUs are made of: values of tiles, and constraints that pipelines share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import z3

from ..kind import kind_of
from ..problem import Dim, Problem, Target
from ..space import Constraint, Knob

# The compiler refuses vectors (and contractions over them) of this many native vectors or more.
MAX_NATIVE_VECTORS = 512
# Accumulators beyond this multiple of the register file only spill: no candidate above 2x was
# within 30 % of the best of its problem.
MAX_ACCUMULATOR_FILES = 4
# Vector operations that one tile unrolls to, each time it is written out: more take seconds to
# compile (16 s for a 48x64 matrix-vector tile on AVX2).
MAX_UNROLLED = 256
# Handing out a workgroup takes about a microsecond, in which a core does this many operations.
MIN_WORKGROUP_FLOPS = 1 << 16
# The same of what waits for memory: rows of 384 are best added up 10 to 50 at a time.
MIN_WORKGROUP_STREAMED = 1 << 13
MAX_VECTOR_TILE = 128
MAX_VECTOR_REDUCTION = 64


def nesting_constraints(
    outer: z3.ArithRef, inner: z3.ArithRef, dim: Dim
) -> tuple[Constraint, Constraint]:
    """The inner tile divides the outer one, which may be ragged only where it is the whole dim."""
    divides = z3.Or(outer % inner == 0, outer == dim.size)
    return (
        Constraint(f"tiles of {dim.name} are no larger than what they divide", inner <= outer),
        Constraint(f"tiles of {dim.name} nest", divides, prunes=True),
    )


def has_remainder(dim: Dim, *levels: str) -> z3.BoolRef:
    """Whether vector tiles leave a remainder: of the loop, or of a tile of one of the levels."""
    names = [level for level in levels if dim.parallel or level != "dist"]
    tiles = [z3.Int(f"{level}_{dim.name}") for level in names]
    return z3.Or([size % vec_tile(dim) != 0 for size in (z3.IntVal(dim.size), *tiles)])


def even_constraints(dims: Iterable[Dim], what: str = "vector tiles") -> list[Constraint]:
    """That vector tiles leave no remainder, of each loop by itself: the default may of one."""
    return [
        Constraint(
            f"{what} of {d.name} leave no remainder",
            z3.Not(has_remainder(d, "dist")),
            prunes=True,
        )
        for d in dims
    ]


def common_constraints(
    problem: Problem, target: Target, knobs: Sequence[Knob], *, even: bool = False
) -> list[Constraint]:
    """Constraints that all CPU pipelines share.

    Args:
        even: whether vector tiles are to leave no remainder.
    """
    accumulator = problem.sum_bytes
    rules = []
    for skipped in kind_of(problem).excluded_loops:
        volume = accumulator * product(vec_tile(d) for d in problem.dims if d.name != skipped)
        refused = volume < target.vector_bytes * MAX_NATIVE_VECTORS
        rules.append(Constraint("the compiler refuses large vectors", refused, known_failure=True))
        unrolled = volume <= target.vector_bytes * MAX_UNROLLED
        rules.append(Constraint("unrolled code stays small", unrolled, prunes=True))
    in_l1 = footprint(problem, "vec") <= target.cache_bytes[0]
    rules.append(Constraint("the data of a vector tile fits L1", in_l1, prunes=True))
    accumulators = accumulator * product(vec_tile(d) for d in problem.dims if d.parallel)
    fits = accumulators <= MAX_ACCUMULATOR_FILES * target.registers * target.vector_bytes
    rules.append(Constraint("accumulators fit the registers", fits, prunes=True))
    return [*rules, *use_constraints(problem, target, knobs, even=even)]


def use_constraints(
    problem: Problem, target: Target, knobs: Sequence[Knob], *, even: bool
) -> list[Constraint]:
    """That some loop fills native vectors, every core has work, and workgroups are worth it."""
    tiles = _Tiles({knob.name: knob.values for knob in knobs}, even)
    full = _full_vectors(problem, target, tiles)
    reason = "a contiguous loop, or a convolution's channels, fill native vectors"
    filled = z3.Or([vec_tile(d) % unit == 0 for d, unit in full])
    rules = [Constraint(reason, filled, prunes=True)] if full else []
    cores = min(target.cores, _most_workgroups(problem, full, tiles))
    return [*rules, *_workgroup_constraints(problem, target, cores)]


@dataclass(frozen=True)
class _Tiles:
    """What tiles a loop may have by itself: values by knob, and whether they are to be even."""

    values: Mapping[str, tuple[int, ...]]
    even: bool

    def of_vectors(self, dim: Dim, unit: int = 1) -> list[int]:
        """Multiples of a unit."""
        found = (tile for tile in self.values[f"vec_{dim.name}"] if tile % unit == 0)
        return [tile for tile in found if not (self.even and dim.size % tile)]

    def most_workgroups(self, dim: Dim, unit: int = 1) -> int:
        """How many the loop is cut into at most, with such a vector tile."""
        least = min(
            tile
            for vector in self.of_vectors(dim, unit)
            for tile in self.values[f"dist_{dim.name}"]
            if tile % vector == 0 or (tile == dim.size >= vector and not self.even)
        )
        return math.ceil(dim.size / least)


def _full_vectors(problem: Problem, target: Target, tiles: _Tiles) -> list[tuple[Dim, int]]:
    """Loops of which one is to fill native vectors, each with what its tile is a multiple of.

    The few values of a window fill none.
    """
    lanes = target.vector_bytes // problem.sum_bytes
    window = kind_of(problem).has_window
    # Batch loops have vectors of one, which fill none.
    batches = [d for d in problem.by_role("batch") if d.size > 1]
    loops = [d for d in contiguous(problem) if (d.parallel or not window) and d not in batches]
    full = [(d, min(lanes, d.size)) for d in loops]
    if window:
        # Wherever they are: with channels first, 8 or 16 of them by 14 columns are 1.46 times as
        # fast as the default (28x28, AVX-512), and vectors of columns 2.7 times slower than it.
        full += [(d, min(lanes // 2, d.size)) for d in problem.by_role("n")]
    if any(tiles.of_vectors(d, unit) for d, unit in full):
        return full
    # No such tile is even, of 58 channels, say: then the largest that are.
    return [(d, max(t for t in (1, *tiles.of_vectors(d)) if t <= unit)) for d, unit in full]


def _most_workgroups(problem: Problem, full: Sequence[tuple[Dim, int]], tiles: _Tiles) -> int:
    """How many there can be: tiles of what fills vectors are no smaller than these."""
    parallel = {d.name: tiles.most_workgroups(d) for d in problem.dims if d.parallel}
    found = [
        parallel | ({d.name: tiles.most_workgroups(d, unit)} if d.parallel else {})
        for d, unit in full
        if tiles.of_vectors(d, unit)
    ]
    return max(math.prod(counts.values()) for counts in found or [parallel])


def _workgroup_constraints(problem: Problem, target: Target, cores: int) -> list[Constraint]:
    """Constraints on workgroups: one per core at least, and none too small to be worth it."""
    parallel = [d for d in problem.dims if d.parallel]
    tiles = {d.name: z3.Int(f"dist_{d.name}") for d in parallel}
    workgroups = product((d.size + tiles[d.name] - 1) / tiles[d.name] for d in parallel)
    sizes = {d.name: tiles.get(d.name, z3.IntVal(d.size)) for d in problem.dims}
    skips = kind_of(problem).excluded_loops
    products = [product(size for name, size in sizes.items() if name != skip) for skip in skips]
    flops = 2 * sum(products[1:], start=products[0])
    worth = MIN_WORKGROUP_STREAMED if kind_of(problem).memory_bound else MIN_WORKGROUP_FLOPS
    least = min(worth, problem.flops // (4 * target.cores))
    return [
        Constraint("every core has work", workgroups >= cores, prunes=True),
        Constraint("a workgroup is worth handing out", flops >= least, prunes=True),
    ]


def footprint(problem: Problem, level: str, *, reused: bool = False) -> z3.ArithRef:
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
        parts.append(product(extents) * operand.bytes_per_element)
    return sum(parts[1:], start=parts[0])


def contiguous(problem: Problem) -> list[Dim]:
    """The loops along which some operand's elements follow each other in memory."""
    last = {loop for o in problem.operands for loop, _ in problem.innermost(o)[:1]}
    return [problem.dims[loop] for loop in sorted(last)]


def vec_tile(dim: Dim) -> z3.ArithRef:
    return z3.Int(f"vec_{dim.name}")


def product(factors: Iterable[z3.ArithRef]) -> z3.ArithRef:
    return math.prod(list(factors), start=z3.IntVal(1))


def tile_sizes(size: int) -> tuple[int, ...]:
    """Powers of two, three times those, the halves to eighths of the size, and the size itself."""
    found = {size} | {math.ceil(size / parts) for parts in range(2, 9)}
    for base in (1, 3):
        found |= {base << shift for shift in range(size.bit_length()) if base << shift < size}
    return tuple(sorted(found))


def vector_tile_sizes(dim: Dim, whole: str | None) -> tuple[int, ...]:
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
