"""VectorDistribute for products with a vector or a few rows: lanes and subgroups share a reduction.

One parallel loop, the longest, gives rows to lanes and subgroups, too; others are only tiled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import z3

from ..problem import Dim, Problem, Target
from ..space import Constraint, Knob, Space
from .chosen import ChosenConfig
from .columns import Number, ceil_div, columns, extra_knobs, padded, powers, product
from .rendering import GpuConfig, render

# Elements of the iteration space that a thread holds in one step; they are unrolled.
MAX_UNROLLED = 256
MAX_VECTOR = 16
MAX_STEP = 8192
USEFUL_EXTRAS = ("waves_per_eu", "flush_denormals")


def build(
    problem: Problem, target: Target, pipeline: str, extras: Mapping[str, tuple[int, ...]]
) -> Space:
    gpu = target.gpu
    assert gpu is not None
    more = extra_knobs(target, extras, USEFUL_EXTRAS)
    row, k = rows_at(problem), reduction_at(problem)
    parallel = [(i, d) for i, d in enumerate(problem.dims) if d.parallel]
    tile = {i: z3.Int(f"wg_{i}") for i, _ in parallel}
    step = z3.Int(f"red_{k}")
    lanes = {k: z3.Int(f"lanes_{k}"), row: gpu.subgroup_size / z3.Int(f"lanes_{k}")}
    subgroups = {i: z3.Int(f"subgroups_{i}") for i in (row, k)}
    vector = {i: z3.Int(f"thread_{i}") for i in (row, k)}
    threads = subgroups[row] * subgroups[k] * gpu.subgroup_size
    share = {i: lanes[i] * subgroups[i] * vector[i] for i in (row, k)}
    unrolled = product(tile.values()) * step
    # Subgroups that share a reduction add up through shared memory. For gfx942, the compiler
    # refused 12 of 12 candidates with more than there is, and took 6 of 6 with all of it.
    summed = z3.If(subgroups[k] > 1, problem.sum_bytes * product(tile.values()) * subgroups[k], 0)

    rules = [
        Constraint("rows are shared evenly", tile[row] % share[row] == 0),
        Constraint("a step of the reduction is shared evenly", step % share[k] == 0),
        Constraint("threads fit a workgroup", threads <= gpu.max_threads),
        Constraint("sums fit shared memory", summed <= gpu.shared_bytes),
        # The compiler adds up what subgroups have summed in the lanes that share the reduction. Of
        # more subgroups, it loses sums: on an H200, of 400 candidates of two products, all 58 with
        # more were wrong, and all others right.
        Constraint(
            "a lane adds up each subgroup's sum", subgroups[k] <= lanes[k], known_failure=True
        ),
        Constraint("unrolled code stays small", unrolled <= MAX_UNROLLED * threads, prunes=True),
        Constraint(
            "only one loop is read as vectors",
            z3.Or(vector[row] == 1, vector[k] == 1),
            prunes=True,
        ),
    ]
    side = problem.dims[row].role
    known = {
        **_tiles(parallel),
        "tile_k": step,
        f"subgroups_{side}": subgroups[row],
        "subgroups_k": subgroups[k],
        f"thread_{side}": vector[row],
        "thread_k": vector[k],
        "lanes_k": lanes[k],
        "subgroup_size": gpu.subgroup_size,
        "threads": threads,
        "workgroups": product(ceil_div(d.size, tile[i]) for i, d in parallel),
        "shared_bytes": summed,
        "vector_distribute": 1,
        "bank_padding": 1,
    }
    knobs = [k for i, d in parallel for k in _tile_knobs(problem, i, d)]
    return Space(
        problem,
        target,
        pipeline,
        (*knobs, *_reduction_knobs(problem, target), *more),
        tuple(rules),
        partial(render, configure, problem, target),
        columns(known, more),
    )


def _tiles(parallel: Sequence[tuple[int, Dim]]) -> dict[str, Number]:
    """The size of a workgroup's tile by role."""
    return {
        f"tile_{role}": product(z3.Int(f"wg_{i}") for i, d in parallel if d.role == role)
        for role in ("batch", "m", "n")
    }


def configure(problem: Problem, target: Target, candidate: Mapping[str, int]) -> GpuConfig:
    assert target.gpu is not None
    loops = list(range(len(problem.dims)))
    row, k = rows_at(problem), reduction_at(problem)
    lanes = {k: candidate[f"lanes_{k}"], row: target.gpu.subgroup_size // candidate[f"lanes_{k}"]}
    subgroups = [candidate.get(f"subgroups_{i}", 1) for i in loops]
    outer = [int(not d.parallel) for d in problem.dims]
    lowering: dict[str, Any] = {
        "workgroup": [candidate.get(f"wg_{i}", 0) for i in loops],
        "partial_reduction": [candidate.get(f"red_{i}", outer[i]) for i in loops],
        "thread": [candidate.get(f"thread_{i}", outer[i]) for i in loops],
        "lane_basis": [[lanes.get(i, 1) for i in loops], loops],
        "subgroup_basis": [subgroups, loops],
    }
    # A thread's tile of 0 is a whole row, where the compiler's default has no more to say.
    if candidate[f"thread_{row}"] == 1:
        lowering["thread"][row] = 0
    return GpuConfig(
        "VectorDistribute",
        (subgroups[row] * subgroups[k] * target.gpu.subgroup_size, 1, 1),
        target.gpu.subgroup_size,
        lowering,
        options={"no_reduce_shared_memory_bank_conflicts": False, "use_igemm_convolution": False},
        extras={n: candidate[n] for n in USEFUL_EXTRAS if n in candidate},
    )


def knobs_of(problem: Problem, target: Target, chosen: ChosenConfig) -> dict[str, int] | None:
    """The candidate that a configuration is: the inverse of `configure`."""
    count = len(problem.dims)
    if chosen.pipeline != "VectorDistribute" or chosen.mma:
        return None
    row, k = rows_at(problem), reduction_at(problem)
    lanes, subgroups = chosen.of("lane_basis", count), chosen.of("subgroup_basis", count)
    tile, own = chosen.of("workgroup", count), chosen.of("thread", count)
    found = {
        **{f"wg_{i}": tile[i] or 1 for i, d in enumerate(problem.dims) if d.parallel},
        **{f"subgroups_{i}": subgroups[i] or 1 for i in (row, k)},
        **{f"thread_{i}": own[i] or 1 for i in (row, k)},
        f"red_{k}": chosen.of("partial_reduction", count)[k],
        f"lanes_{k}": lanes[k] or 1,
        **chosen.extras,
    }
    return found if chosen.agrees(configure(problem, target, found)) else None


def rows_at(problem: Problem) -> int:
    """The position of the longest loop among the parallel ones that are no batches."""
    found = [(d.size, i) for i, d in enumerate(problem.dims) if d.role in ("m", "n")]
    return max(found)[1]


def reduction_at(problem: Problem) -> int:
    return max(i for i, d in enumerate(problem.dims) if not d.parallel)


def _tile_knobs(problem: Problem, at: int, dim: Dim) -> list[Knob]:
    if at != rows_at(problem):
        most = 1 if dim.role == "batch" else dim.size
        return [Knob(f"wg_{at}", padded(powers(most), dim.size))]
    contiguous = any(o.index[-1] == ((at, 1),) for o in problem.inputs)
    return [
        Knob(f"wg_{at}", padded(powers(1024), dim.size)),
        Knob(f"thread_{at}", powers(MAX_VECTOR) if contiguous else (1,)),
        Knob(f"subgroups_{at}", powers(16)),
    ]


def _reduction_knobs(problem: Problem, target: Target) -> tuple[Knob, ...]:
    assert target.gpu is not None
    k = reduction_at(problem)
    size = problem.dims[k].size
    contiguous = any(o.index[-1] == ((k, 1),) for o in problem.inputs)
    return (
        Knob(f"red_{k}", padded(powers(MAX_STEP), size)),
        Knob(f"thread_{k}", powers(MAX_VECTOR) if contiguous else (1,)),
        Knob(f"lanes_{k}", powers(target.gpu.subgroup_size)),
        Knob(f"subgroups_{k}", powers(16)),
    )
