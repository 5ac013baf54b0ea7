"""VectorDistribute with matrix instructions for attention on NVIDIA, where IREE 3.13 emits nothing.

The constraints are those that it emits for AMD, but for the number of subgroups, which it pins
there. A subgroup has all columns of its rows, so that no other one shares their maximum and sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import z3

from ..problem import Dim, Intrinsic, Problem, Target
from ..space import Constraint, Knob, Space
from .chosen import ChosenConfig
from .columns import (
    Number,
    attention_bytes,
    ceil_div,
    columns,
    fits_chip,
    lookup,
    powers,
    product,
)
from .rendering import GpuConfig, render

# The compiler's own limit, in elements of a workgroup's tile.
MAX_TILE = 512
MAX_SUBGROUPS = 16


def intrinsics(problem: Problem, target: Target) -> tuple[Intrinsic, ...]:
    """The matrix instructions that both products can be made of."""
    assert target.gpu is not None
    query, key, value, _ = (o.dtype for o in problem.operands)
    width, head, keys = (problem.dim(name).size for name in ("k1", "n", "k2"))
    return tuple(
        i
        for i in target.gpu.intrinsics
        if i.types == (query, key, "f32") == (query, value, "f32")
        and i.name.startswith("NV_MMA_SYNC")
        and not (width % i.k or head % i.n or keys % i.n or keys % i.k or rows(problem).size % i.m)
    )


def rows(problem: Problem) -> Dim:
    """The innermost loop of queries, which instructions tile."""
    return problem.by_role("m")[-1]


def build(
    problem: Problem, target: Target, pipeline: str, extras: Mapping[str, tuple[int, ...]]
) -> Space:
    gpu, kinds = target.gpu, intrinsics(problem, target)
    assert gpu is not None
    m, n, k1, k2 = rows(problem), *(problem.dim(name) for name in ("n", "k1", "k2"))
    kind = z3.Int("mma_idx")
    mma = {side: lookup(kind, [getattr(i, side) for i in kinds]) for side in "mnk"}
    tile = {"m": z3.Int("wg_m"), "n": z3.Int("wg_n"), "k": z3.Int("red_k2")}
    subgroups = z3.Int("subgroups_m")
    threads = subgroups * gpu.subgroup_size
    shared = attention_bytes(problem, k1.size, tile)
    sums = tile["m"] * (tile["n"] + tile["k"])
    rules = (
        Constraint("tiles divide loops that are not padded", m.size % tile["m"] == 0),
        Constraint("tiles divide loops that are not padded", n.size % tile["n"] == 0),
        Constraint("tiles divide loops that are not padded", k2.size % tile["k"] == 0),
        Constraint("subgroups have whole instructions", tile["m"] % (subgroups * mma["m"]) == 0),
        Constraint("a tile is made of instructions", tile["n"] % mma["n"] == 0),
        Constraint("a step of the keys is made of instructions", tile["k"] % mma["k"] == 0),
        Constraint("a step of the keys is made of instructions", tile["k"] % mma["n"] == 0),
        Constraint("threads fit a workgroup", threads <= gpu.max_threads),
        Constraint("tiles fit shared memory", shared <= gpu.shared_bytes),
        *fits_chip(target, shared, _copies(problem, tile)),
        Constraint(
            "sums fit a thread's registers", sums * 32 <= gpu.register_bits * threads, prunes=True
        ),
    )
    known: dict[str, Number] = {
        "tile_m": tile["m"],
        "tile_n": tile["n"],
        "tile_k": tile["k"],
        "subgroups_m": subgroups,
        **{f"mma_{side}": size for side, size in mma.items()},
        "subgroup_size": gpu.subgroup_size,
        "threads": threads,
        "workgroups": product(
            ceil_div(d.size, tile[d.role]) if d in (m, n) else z3.IntVal(d.size)
            for d in problem.by_role("batch", "m", "n")
        ),
        "shared_bytes": shared,
        "vector_distribute": 1,
        "bank_padding": 1,
    }
    knobs = (
        Knob("mma_idx", tuple(range(len(kinds)))),
        Knob("wg_m", _divisors(m.size)),
        Knob("wg_n", _divisors(n.size)),
        Knob("red_k2", _divisors(k2.size)),
        Knob("subgroups_m", powers(MAX_SUBGROUPS)),
    )
    return Space(
        problem,
        target,
        pipeline,
        knobs,
        rules,
        partial(render, configure, problem, target),
        columns(known, ()),
    )


def _copies(problem: Problem, tile: Mapping[str, Number]) -> Iterator[list[Number]]:
    """The tiles of queries, keys and values."""
    sizes = {rows(problem).name: tile["m"], "n": tile["n"], "k2": tile["k"]}
    for operand in problem.inputs[:3]:
        dims = [problem.dims[loop] for ((loop, _),) in operand.index]
        yield [sizes.get(d.name, 1 if d.parallel else d.size) for d in dims]


def configure(problem: Problem, target: Target, candidate: Mapping[str, int]) -> GpuConfig:
    assert target.gpu is not None
    kind = intrinsics(problem, target)[candidate["mma_idx"]]
    tiles = {rows(problem).name: candidate["wg_m"], "n": candidate["wg_n"]}
    count = candidate["subgroups_m"]
    counts = [count if d == rows(problem) else 1 for d in problem.dims]

    def shared_by(without: str) -> list[list[int]]:
        """The subgroups, by the loops that a product has."""
        return [counts, [i for i, d in enumerate(problem.dims) if d.name != without]]

    return GpuConfig(
        "VectorDistribute",
        (count * target.gpu.subgroup_size, 1, 1),
        target.gpu.subgroup_size,
        {
            "workgroup": [tiles.get(d.name, 1) if d.parallel else 0 for d in problem.dims],
            "reduction": [candidate["red_k2"] if d.name == "k2" else 0 for d in problem.dims],
            "promote_operands": [0, 1, 2],
        },
        products={
            "qk_attrs": {"promote_operands": [0, 1], "subgroup_basis": shared_by("n")},
            "pv_attrs": {"promote_operands": [1], "subgroup_basis": shared_by("k1")},
        },
        mma=kind.name,
    )


def knobs_of(problem: Problem, target: Target, chosen: ChosenConfig) -> dict[str, int] | None:
    """The candidate that a configuration is: the inverse of `configure`."""
    names = [i.name for i in intrinsics(problem, target)]
    if chosen.pipeline != "VectorDistribute" or chosen.mma not in names:
        return None
    at = {d.name: i for i, d in enumerate(problem.dims)}
    count = len(problem.dims)
    tile = chosen.of("workgroup", count)
    found = {
        "mma_idx": names.index(chosen.mma),
        "wg_m": tile[at[rows(problem).name]],
        "wg_n": tile[at["n"]],
        "red_k2": chosen.of("reduction", count)[at["k2"]],
        "subgroups_m": chosen.of("subgroup_basis", count)[at[rows(problem).name]],
    }
    return found if chosen.agrees(configure(problem, target, found)) else None


def _divisors(size: int) -> tuple[int, ...]:
    return tuple(d for d in range(8, min(size, MAX_TILE) + 1, 8) if size % d == 0)
