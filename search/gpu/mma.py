"""TileAndFuse with matrix instructions: contractions with batch dims, grouped convolutions.

The constraints are those that the compiler emits for a plain matmul, where it emits any (the same
2,452 candidates for 2048x1280x5120 in f16 on gfx942), said of more loops, and with padding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import z3

from ..problem import Intrinsic, Problem, Target
from ..space import Constraint, Knob, Space
from .chosen import ChosenConfig
from .columns import (
    Number,
    align,
    ceil_div,
    columns,
    extra_knobs,
    fits_chip,
    fits_registers,
    intrinsics,
    lookup,
    padding_bound,
    product,
    total,
)
from .extras import EXTRA_KNOBS
from .rendering import GpuConfig, MatmulLoops, MatmulLoopsRequest, ask_renderer, render
from .sums import sum_bits

# The compiler's own limits, in elements of a workgroup's tile and in subgroups.
MAX_TILE = 512
MAX_SUBGROUPS = 10
# A thread that gathers more elements of the image for a step of the reduction does so in code of
# that length. Where pixels, not channels, follow each other in memory (`swapped`), each is a load:
# 64 took 10 s to compile and 256 over 40 s, where the usual is 1 s. Else, 384 took 6 to 13 s.
MAX_GATHERED = {False: 64, True: 32}


@dataclass(frozen=True)
class Loop:
    """A loop of the matmul; `side` is its role in it: `batch`, `m`, `n` or `k`."""

    at: int
    size: int
    side: str

    @property
    def tile(self) -> z3.ArithRef:
        return z3.Int(f"wg_{self.at}")

    @property
    def fragments(self) -> z3.ArithRef:
        return z3.Int(f"sg_{self.at}")


@dataclass(frozen=True)
class MatmulLoopNest:
    """The problem as the matmul that the pipeline makes of it.

    Attributes:
        origin: for each loop of the problem, the position of that which it becomes part of.
        swapped: whether the filter is the left operand, so that the problem's `m` are its `n`.
    """

    loops: tuple[Loop, ...]
    origin: tuple[int, ...]
    igemm: bool = False
    swapped: bool = False

    def side(self, side: str) -> tuple[Loop, ...]:
        return tuple(loop for loop in self.loops if loop.side == side)

    @property
    def k(self) -> Loop:
        """The innermost reduction, which is the one that is tiled."""
        return self.side("k")[-1]

    def is_innermost(self, loop: Loop) -> bool:
        """Whether the loop is the innermost of its side, the one that matrix instructions tile."""
        return loop == self.side(loop.side)[-1]


def as_matmul(problem: Problem, igemm: bool) -> MatmulLoopNest | None:
    """None where a convolution has no form as a matmul."""
    if not igemm:
        own = tuple(Loop(i, d.size, d.role) for i, d in enumerate(problem.dims))
        return MatmulLoopNest(own, tuple(range(len(own))))
    loops: MatmulLoops | None = ask_renderer(MatmulLoopsRequest(problem))
    if loops is None:
        return None
    swap = {"m": "n", "n": "m"} if loops.swapped else {}
    roles = [problem.dims[loops.origin.index(i)].role for i in range(len(loops.sizes))]
    found = [Loop(i, loops.sizes[i], swap.get(r, r)) for i, r in enumerate(roles)]
    return MatmulLoopNest(tuple(found), loops.origin, igemm=True, swapped=loops.swapped)


@dataclass(frozen=True)
class MmaSizes:
    """Sizes of a matrix-multiplication configuration, as terms of its knobs.

    Attributes:
        mma: of the instruction, by side; so of the others.
        tile: of a workgroup.
        fragments: of a subgroup.
        subgroups: how many share a tile.
        threads: of a workgroup.
        shared: bytes of shared memory.
    """

    mma: Mapping[str, Number]
    tile: Mapping[str, Number]
    fragments: Mapping[str, Number]
    subgroups: Mapping[str, Number]
    threads: Number
    shared: z3.ArithRef

    @classmethod
    def of(cls, problem: Problem, target: Target, matmul: MatmulLoopNest) -> MmaSizes:
        assert target.gpu is not None
        kind, kinds = z3.Int("mma_idx"), intrinsics(problem, target)
        mma = {s: lookup(kind, [getattr(i, s) for i in kinds]) for s in ("m", "n", "k")}
        tile = {s: product(x.tile for x in matmul.side(s)) for s in ("batch", "m", "n")}
        tile["k"] = z3.Int(f"red_{matmul.k.at}") * mma["k"]
        fragments = {s: product(x.fragments for x in matmul.side(s)) * mma[s] for s in ("m", "n")}
        subgroups = {s: tile[s] / fragments[s] for s in ("m", "n")}
        threads = subgroups["m"] * subgroups["n"] * target.gpu.subgroup_size
        shared = _shared_bytes(problem, matmul, tile)
        return cls(mma, tile, fragments, subgroups, threads, shared)


def build(
    problem: Problem, target: Target, pipeline: str, extras: Mapping[str, tuple[int, ...]]
) -> Space:
    """The space of `TileAndFuse` or, for a convolution made a matmul, `TileAndFuse-igemm`."""
    matmul = as_matmul(problem, igemm=pipeline.endswith("igemm"))
    assert matmul is not None
    kinds = intrinsics(problem, target)
    more = extra_knobs(target, extras, EXTRA_KNOBS)
    sizes = MmaSizes.of(problem, target, matmul)
    return Space(
        problem,
        target,
        pipeline,
        _knobs(matmul, kinds) + more,
        tuple(_rules(problem, target, matmul, sizes)),
        partial(render, configure, matmul, kinds, target),
        columns(_derived(target, matmul, sizes), more),
    )


def _rules(
    problem: Problem, target: Target, matmul: MatmulLoopNest, sizes: MmaSizes
) -> Iterator[Constraint]:
    gpu, tile = target.gpu, sizes.tile
    assert gpu is not None
    for loop in matmul.loops:
        yield from _tile_rules(loop, matmul, sizes.mma)
    for side in ("m", "n"):
        yield Constraint("the tile fits registers", tile[side] <= MAX_TILE)
        whole = tile[side] % sizes.fragments[side] == 0
        yield Constraint("subgroups share a tile evenly", whole)
    count = sizes.subgroups["m"] * sizes.subgroups["n"]
    yield Constraint("the reduction tile fits registers", tile["k"] <= MAX_TILE)
    yield Constraint(f"there are at most {MAX_SUBGROUPS} subgroups", count <= MAX_SUBGROUPS)
    yield Constraint("threads fit a workgroup", sizes.threads <= gpu.max_threads)
    yield Constraint("tiles fit shared memory", sizes.shared <= gpu.shared_bytes)
    yield from fits_chip(target, sizes.shared, _copies(problem, matmul, tile["k"]))
    bits = sum_bits(problem, target)
    yield fits_registers(target, tile["m"] * tile["n"], bits, sizes.threads)
    if matmul.igemm:
        image = tile["n" if matmul.swapped else "m"] * tile["k"]
        gathered = image <= MAX_GATHERED[matmul.swapped] * sizes.threads
        yield Constraint("few elements are gathered at once", gathered, prunes=True)


def _derived(target: Target, matmul: MatmulLoopNest, sizes: MmaSizes) -> dict[str, Number]:
    """What features are computed from, by the roles that the problem has."""
    assert target.gpu is not None
    side_of = {"m": "n", "n": "m"} if matmul.swapped else {}
    found = {f"tile_{s}": sizes.tile[side_of.get(s, s)] for s in ("batch", "m", "n", "k")}
    found |= {f"subgroups_{s}": sizes.subgroups[side_of.get(s, s)] for s in ("m", "n")}
    found |= {f"mma_{s}": sizes.mma[side_of.get(s, s)] for s in ("m", "n", "k")}
    return found | {
        "subgroup_size": target.gpu.subgroup_size,
        "threads": sizes.threads,
        "workgroups": product(ceil_div(x.size, x.tile) for x in matmul.loops if x.side != "k"),
        "shared_bytes": sizes.shared,
        "igemm": int(matmul.igemm),
        "stages": 2,
        "bank_padding": 1,
    }


def configure(
    matmul: MatmulLoopNest,
    kinds: tuple[Intrinsic, ...],
    target: Target,
    candidate: Mapping[str, int],
) -> GpuConfig:
    assert target.gpu is not None
    kind = kinds[candidate["mma_idx"]]
    workgroup = [candidate.get(f"wg_{x.at}", 0) for x in matmul.loops]
    subgroup = [candidate.get(f"sg_{x.at}", 0) for x in matmul.loops]
    reduction = [candidate.get(f"red_{x.at}", int(x.side == "k")) for x in matmul.loops]
    lowering: dict[str, Any] = {
        "workgroup": workgroup,
        "subgroup": subgroup,
        "reduction": reduction,
        "promote_operands": [0, 1],
    }
    steps = [
        (workgroup[x.at] or reduction[x.at]) * (kind.k if x == matmul.k else 1)
        for x in matmul.loops
    ]
    if any(x.size % steps[x.at] for x in matmul.loops):
        lowering["padding"] = steps
    if kind.name.startswith("NV_MMA_SYNC"):
        lowering["convert_acc_gemm"] = True
    threads = target.gpu.subgroup_size
    for side, size in (("m", kind.m), ("n", kind.n)):
        for loop in matmul.side(side):
            threads = threads * workgroup[loop.at] // subgroup[loop.at]
        threads //= size
    return GpuConfig(
        "TileAndFuse",
        (threads, 1, 1),
        target.gpu.subgroup_size,
        lowering,
        kind.name,
        {
            "prefetch_num_stages": 2,
            "no_reduce_shared_memory_bank_conflicts": False,
            "use_igemm_convolution": matmul.igemm,
        },
        {n: candidate[n] for n in EXTRA_KNOBS if n in candidate},
    )


def knobs_of(problem: Problem, target: Target, chosen: ChosenConfig) -> dict[str, int] | None:
    """The candidate that a configuration is: the inverse of `configure`."""
    names = [i.name for i in intrinsics(problem, target)]
    if chosen.pipeline != "TileAndFuse" or chosen.mma not in names:
        return None
    matmul = as_matmul(problem, igemm=chosen.igemm)
    if matmul is None:
        return None
    count = len(matmul.loops)
    tile, own = chosen.of("workgroup", count), chosen.of("subgroup", count)
    found = {"mma_idx": names.index(chosen.mma), **chosen.extras}
    for loop in matmul.loops:
        if loop.side == "k":
            found[f"red_{loop.at}"] = chosen.of("reduction", count)[loop.at] or 1
            continue
        found[f"wg_{loop.at}"] = tile[loop.at] or 1
        if loop.side != "batch":
            found[f"sg_{loop.at}"] = own[loop.at] or 1
    config = configure(matmul, intrinsics(problem, target), target, found)
    return found if chosen.agrees(config) else None


def _knobs(matmul: MatmulLoopNest, kinds: tuple[Intrinsic, ...]) -> tuple[Knob, ...]:
    knobs = [Knob("mma_idx", tuple(range(len(kinds))))]
    for loop in matmul.loops:
        steps = [getattr(i, loop.side) for i in kinds] if loop.side in "mnk" else []
        most = min(max([padding_bound(loop.size), *(align(loop.size, s) for s in steps)]), MAX_TILE)
        if loop.side == "batch":
            knobs.append(Knob(f"wg_{loop.at}", (1,)))
        elif loop.side == "k":
            if loop == matmul.k:
                knobs.append(Knob(f"red_{loop.at}", tuple(range(1, most // min(steps) + 1))))
        else:
            step = min(steps) if matmul.is_innermost(loop) else 1
            knobs.append(Knob(f"wg_{loop.at}", tuple(range(step, most + 1, step))))
            knobs.append(Knob(f"sg_{loop.at}", tuple(range(1, most // step + 1))))
    return tuple(knobs)


def _tile_rules(
    loop: Loop, matmul: MatmulLoopNest, mma: Mapping[str, z3.ArithRef]
) -> Iterable[Constraint]:
    if loop.side == "batch" or (loop.side == "k" and loop != matmul.k):
        return
    step = mma[loop.side] if matmul.is_innermost(loop) else z3.IntVal(1)
    tile = z3.Int(f"red_{loop.at}") * step if loop.side == "k" else loop.tile
    aligned = ceil_div(loop.size, step) * step
    limit = z3.If(aligned > padding_bound(loop.size), aligned, z3.IntVal(padding_bound(loop.size)))
    fits = ceil_div(loop.size, tile) * tile <= limit
    yield Constraint("tiles pad a loop no further than the compiler would", fits)
    if loop.side != "k":
        whole = tile % (loop.fragments * step) == 0
        yield Constraint("a workgroup's tile is made of subgroups' and instructions'", whole)


def _copies(problem: Problem, matmul: MatmulLoopNest, step: Number) -> Iterator[list[Number]]:
    """The tiles of the operands; those of images are gathered, as the matmul reads them."""
    for operand in problem.inputs:
        loops = dict.fromkeys(matmul.origin[loop] for loop in problem.walking_loops(operand))
        tiles = {loop.at: loop.tile for loop in matmul.loops if loop.side != "k"}
        yield [(tiles | {matmul.k.at: step}).get(at, 1) for at in loops]


def _shared_bytes(
    problem: Problem, matmul: MatmulLoopNest, tile: Mapping[str, z3.ArithRef]
) -> z3.ArithRef:
    """Of both operands' tiles."""
    lhs, rhs = (o.bytes_per_element for o in problem.inputs)
    if matmul.swapped:
        lhs, rhs = rhs, lhs
    return tile["batch"] * tile["k"] * total((lhs * tile["m"], rhs * tile["n"]))
