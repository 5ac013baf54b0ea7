"""TileAndFuse without matrix instructions: each thread computes a tile with vectors of its own.

For contractions whose types no instruction multiplies, vector-matrix products, depthwise and other
convolutions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import z3

from ..kind import kind_of
from ..problem import Dim, Problem, Target
from ..space import Constraint, Knob, Space
from ..subgroups import full_subgroups
from .chosen import ChosenConfig
from .columns import (
    ceil_div,
    columns,
    extra_knobs,
    fits_chip,
    fits_registers,
    padded,
    powers,
    product,
)
from .rendering import GpuConfig, render

# Multiply-adds that a thread does in one step: they are unrolled.
MAX_UNROLLED = 1024
MAX_TILE = 512
MAX_THREAD_TILE = 32
MAX_REDUCTION = 64
ROLES = ("batch", "m", "n")
USEFUL_EXTRAS = ("bank_padding", "stages", "waves_per_eu", "flush_denormals")


def build(
    problem: Problem, target: Target, pipeline: str, extras: Mapping[str, tuple[int, ...]]
) -> Space:
    gpu = target.gpu
    assert gpu is not None
    promotes = _is_matmul(problem)
    # Without tiles in shared memory there is nothing to pad, nor to load ahead.
    more = extra_knobs(target, extras, USEFUL_EXTRAS if promotes else USEFUL_EXTRAS[2:])
    promote = z3.Int("promote") if promotes else z3.IntVal(0)
    parallel = [(i, d) for i, d in enumerate(problem.dims) if d.parallel]
    steps = [z3.Int(f"red_{i}") for i, d in enumerate(problem.dims) if not d.parallel]
    tile, share = (
        {r: product(z3.Int(f"{knob}_{i}") for i, d in parallel if d.role == r) for r in ROLES}
        for knob in ("wg", "thread")
    )
    tile["k"] = product(steps)
    threads = {r: tile[r] / share[r] for r in ROLES}
    count = product(threads.values())
    shared = promote * _shared_bytes(problem, tile)
    sums = product(share.values())
    loops = [(wg.values, own.values) for wg, own in (_knobs(i, d) for i, d in parallel)]

    rules = [
        *_even_shares(i for i, _ in parallel),
        Constraint("threads fit a workgroup", count <= gpu.max_threads),
        Constraint("tiles fit shared memory", shared <= gpu.shared_bytes),
        *fits_chip(target, shared, _copies(problem), promote),
        *full_subgroups(loops, count, gpu),
        fits_registers(target, sums, 8 * problem.sum_bytes),
        Constraint("unrolled code stays small", sums * tile["k"] <= MAX_UNROLLED, prunes=True),
        *_extra_rules(promote, more),
    ]
    known = {
        **{f"tile_{role}": size for role, size in tile.items()},
        **{f"thread_{role}": share[role] for role in ("m", "n")},
        "subgroup_size": gpu.subgroup_size,
        "threads": count,
        "workgroups": product(ceil_div(d.size, z3.Int(f"wg_{i}")) for i, d in parallel),
        "shared_bytes": shared,
        "bank_padding": promote,
        **_subgroups(threads, gpu.subgroup_size),
    }
    knobs = [k for i, d in enumerate(problem.dims) for k in _knobs(i, d)]
    if promotes:
        knobs.append(Knob("promote", (0, 1)))
    return Space(
        problem,
        target,
        pipeline,
        (*knobs, *more),
        tuple(rules),
        partial(render, configure, problem, target),
        columns(known, more),
    )


def _even_shares(loops: Iterable[int]) -> Iterator[Constraint]:
    for i in loops:
        whole = z3.Int(f"wg_{i}") % z3.Int(f"thread_{i}") == 0
        yield Constraint("threads share a tile evenly", whole)


def configure(problem: Problem, target: Target, candidate: Mapping[str, int]) -> GpuConfig:
    assert target.gpu is not None
    loops = range(len(problem.dims))
    lowering: dict[str, Any] = {
        "workgroup": [candidate.get(f"wg_{i}", 0) for i in loops],
        "thread": [candidate.get(f"thread_{i}", 0) for i in loops],
        "reduction": [candidate.get(f"red_{i}", 0) for i in loops],
    }
    promote = bool(candidate.get("promote"))
    if promote:
        lowering["promote_operands"] = [0, 1]
    counts = {"batch": 1, "m": 1, "n": 1}
    for i, d in enumerate(problem.dims):
        if d.parallel:
            counts[d.role] *= candidate[f"wg_{i}"] // candidate[f"thread_{i}"]
    size = (counts["batch"] * counts["m"] * counts["n"], 1, 1)
    # The shape that the compiler gives matmuls, so that its default is a candidate.
    if _is_matmul(problem):
        size = (counts["m"], counts["n"], 1)
    return GpuConfig(
        "TileAndFuse",
        size,
        target.gpu.subgroup_size,
        lowering,
        options={"no_reduce_shared_memory_bank_conflicts": not promote},
        extras={n: candidate[n] for n in USEFUL_EXTRAS if n in candidate},
    )


def knobs_of(problem: Problem, target: Target, chosen: ChosenConfig) -> dict[str, int] | None:
    """The candidate that a configuration is: the inverse of `configure`."""
    count = len(problem.dims)
    if chosen.pipeline != "TileAndFuse" or chosen.mma or "thread" not in chosen.lists:
        return None
    tile, own = chosen.of("workgroup", count), chosen.of("thread", count)
    steps = chosen.of("reduction", count)
    found = {"promote": int("promote_operands" in chosen.lists), **chosen.extras}
    for i, dim in enumerate(problem.dims):
        if dim.parallel:
            found |= {f"wg_{i}": tile[i] or 1, f"thread_{i}": own[i] or 1}
        else:
            found[f"red_{i}"] = steps[i] or 1
    return found if chosen.agrees(configure(problem, target, found)) else None


def _is_matmul(problem: Problem) -> bool:
    return not kind_of(problem).has_window and all(problem.by_role(r) for r in ("m", "n"))


def _knobs(at: int, dim: Dim) -> list[Knob]:
    if not dim.parallel:
        steps = (t for t in range(1, MAX_REDUCTION + 1) if dim.size % t == 0)
        return [Knob(f"red_{at}", tuple(steps))]
    if dim.role == "batch":
        return [Knob(f"wg_{at}", (1,)), Knob(f"thread_{at}", (1,))]
    even = {t for t in range(1, MAX_TILE + 1) if dim.size % t == 0}
    tiles = padded(sorted(even | set(powers(MAX_TILE))), dim.size)
    threads = [t for t in range(1, MAX_THREAD_TILE + 1) if any(x % t == 0 for x in tiles)]
    return [Knob(f"wg_{at}", tiles), Knob(f"thread_{at}", tuple(threads))]


def _extra_rules(promote: z3.ArithRef, extras: Iterable[Knob]) -> Iterator[Constraint]:
    for knob in extras:
        if knob.name == "bank_padding":
            useful = z3.Or(promote == 1, knob.var == knob.values[0])
            yield Constraint("only promoted operands can be padded", useful, prunes=True)
        if knob.name == "stages":
            # 4 of 4 killed by SIGSEGV (gfx1100, IREE 3.13).
            runs = z3.Or(promote == 0, knob.var < 3)
            reason = "the compiler crashes on three stages of promoted operands"
            yield Constraint(reason, runs, known_failure=True)
            useful = z3.Or(promote == 1, knob.var == knob.values[0])
            yield Constraint("only promoted operands are loaded ahead", useful, prunes=True)


def _subgroups(threads: Mapping[str, z3.ArithRef], size: int) -> dict[str, z3.ArithRef]:
    """Subgroups along a role: threads are numbered along `n` first."""
    along_n = z3.If(threads["n"] > size, threads["n"] / size, 1)
    every = z3.If(threads["m"] * threads["n"] > size, threads["m"] * threads["n"] / size, 1)
    return {"subgroups_n": along_n, "subgroups_m": every / along_n}


def _copies(problem: Problem) -> Iterator[list[z3.ArithRef]]:
    """The tiles of the operands: only those of matmuls are promoted."""
    for operand in problem.inputs:
        loops = problem.walking_loops(operand)
        names = ("wg" if problem.dims[loop].parallel else "red" for loop in loops)
        yield [z3.Int(f"{name}_{loop}") for name, loop in zip(names, loops, strict=True)]


def _shared_bytes(problem: Problem, tile: Mapping[str, z3.ArithRef]) -> z3.ArithRef:
    """Of both operands' tiles."""
    lhs, rhs = (o.bytes_per_element for o in problem.inputs)
    return tile["batch"] * tile["k"] * (lhs * tile["m"] + rhs * tile["n"])
