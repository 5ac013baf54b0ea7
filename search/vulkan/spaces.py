"""Vulkan spaces: tiles of workgroups and of threads, stated as Z3 constraints.

The compiler emits no constraints for SPIR-V, so these are ours. Three pipelines lower what sums up
products:

| pipeline | lowers | what |
| --- | --- | --- |
| `BaseVectorize` | contractions, convolutions | a tile per thread, in vectors |
| `BaseDistribute` | the same | the same in scalars, products of any size |
| `MatmulPromoteVectorize` | products of matrices | operands in shared memory, loads pipelined |

A workgroup's threads are numbered along the last parallel loops of the op, of which the last is x.
A workgroup's tile of a loop is a thread's tile times the threads along it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial

import z3

from ...core import NotTunableError
from ..dispatch import Dispatch
from ..kind import kind_of
from ..problem import Dim, Problem, Target
from ..space import Constraint, Knob, Space
from ..subgroups import full_subgroups
from .configuration import (
    DISTRIBUTE,
    PROMOTE,
    VECTORIZE,
    parse,
    pipeline_of,
    render,
    spread_dims,
)

MAX_TILE, MAX_THREAD_TILE, MAX_REDUCTION = 512, 16, 64
# Multiply-adds that a thread's step unrolls to. Lavapipe compiles 256 in 1 s, 1,024 in 2 to 8 s.
MAX_UNROLLED = 512
# What Vulkan promises of a workgroup's third size, and most desktop drivers have no more.
MAX_Z = 64
# Scalar code: a tile of a thread is a loop, which reuses nothing.
MAX_SCALAR_TILE = 4


def vulkan_spaces(dispatch: Dispatch) -> Mapping[str, Callable[[], Space]]:
    """By pipeline that can lower the dispatch: what makes its space.

    Raises:
        NotTunableError: the target's shaders have no values of the problem's types.
    """
    problem, target = dispatch.problem, dispatch.target
    _check_types(problem, target)
    return {p: partial(build, problem, target, p, dispatch.default) for p in _pipelines(problem)}


def _pipelines(problem: Problem) -> tuple[str, ...]:
    """The pipelines that can lower a problem."""
    two_inputs = len(problem.inputs) == 2
    if kind_of(problem).chained or not two_inputs or not spread_dims(problem):
        return ()
    matrices = not kind_of(problem).has_window and all(problem.by_role(r) for r in ("m", "n"))
    return (PROMOTE, VECTORIZE, DISTRIBUTE) if matrices else (VECTORIZE, DISTRIBUTE)


def _check_types(problem: Problem, target: Target) -> None:
    """Refuses what would be emulated.

    In f16 and bf16 the compiler's default does not compile then, and in i8 it computes something
    else (32x64x48 for vp_android_baseline_2022, IREE 3.13.0).
    """
    assert target.gpu is not None
    for operand in problem.operands:
        if operand.dtype not in target.gpu.types:
            raise NotTunableError(
                f"{target.arch} has no {operand.dtype}, which {operand.name} is in",
                f"use one of: {', '.join(target.gpu.types)}, or another profile",
            )


def build(problem: Problem, target: Target, pipeline: str, default: str = "") -> Space:
    """The space of a pipeline for a problem that it can lower.

    Args:
        default: the compiler's own configuration, which is a candidate if it is of the pipeline.
    """
    knobs = tuple(_knobs(problem, pipeline))
    rules = (
        *_thread_constraints(problem, target, pipeline, knobs),
        *_promotion(problem, target, pipeline),
    )
    derived = tuple(_derived(problem, pipeline))
    space = Space(
        problem, target, pipeline, knobs, rules, partial(render, problem, pipeline), derived
    )
    own = parse(problem, default) if pipeline_of(default) == pipeline else None
    return space if own is None else space.with_default(own, default)


def _knobs(problem: Problem, pipeline: str) -> Iterable[Knob]:
    spread = spread_dims(problem)
    scalar = pipeline == DISTRIBUTE
    for d in problem.dims:
        if not d.parallel:
            if not scalar:  # without vectors the compiler does not tile reductions
                yield Knob(f"red_{d.name}", _reductions(d))
        elif d not in spread or d.role == "batch":
            yield Knob(f"wg_{d.name}", (1,))
            yield Knob(f"thread_{d.name}", (1,))
        else:
            shares = (t for t in _divisors(d.size, MAX_THREAD_TILE) if _fills_vectors(t))
            few = tuple(1 << n for n in range(MAX_SCALAR_TILE.bit_length()) if 1 << n <= d.size)
            # Of convolutions (nhwc) in scalar code with tiles that do not divide the loop, 8 of 101
            # were wrong on lavapipe; of products none of 160.
            any_size = scalar and not kind_of(problem).has_window
            yield Knob(f"wg_{d.name}", _tiles(d.size) if any_size else _divisors(d.size, MAX_TILE))
            yield Knob(f"thread_{d.name}", few if scalar else tuple(shares))
    if pipeline == PROMOTE:
        yield Knob("pipeline_depth", (1, 2, 3))
        yield Knob("store_stage", (0, 1))


def _thread_constraints(
    problem: Problem, target: Target, pipeline: str, knobs: Iterable[Knob]
) -> Iterable[Constraint]:
    gpu = target.gpu
    assert gpu is not None
    spread = spread_dims(problem)
    for d in spread:
        reason = f"threads share a workgroup's tile of {d.name} evenly"
        yield Constraint(reason, _wg(d) % _thread(d) == 0)
    counts = [_wg(d) / _thread(d) for d in spread]
    count = _product(counts)
    yield Constraint("threads fit a workgroup", count <= gpu.max_threads)
    if len(counts) > 2:
        yield Constraint("threads along z are few", counts[2] <= MAX_Z)
    values = {knob.name: knob.values for knob in knobs}
    loops = [(values[f"wg_{d.name}"], values[f"thread_{d.name}"]) for d in spread]
    yield from full_subgroups(loops, count, gpu)
    sums = _product(map(_thread, spread))
    fits = 8 * problem.sum_bytes * sums <= gpu.register_bits
    yield Constraint("sums fit a thread's registers", fits, prunes=True)
    if pipeline != DISTRIBUTE:
        unrolled = sums * _step(problem) <= MAX_UNROLLED
        yield Constraint("unrolled code stays small", unrolled, prunes=True)


def _promotion(problem: Problem, target: Target, pipeline: str) -> Iterable[Constraint]:
    assert target.gpu is not None
    if pipeline == PROMOTE:
        fits = _shared_bytes(problem) <= target.gpu.shared_bytes
        yield Constraint("tiles fit shared memory", fits)
        # With one thread along x, 42 of 43 did not compile: copies are given to x first.
        x = spread_dims(problem)[0]
        yield Constraint("threads share the contiguous loop", _wg(x) > _thread(x))


def _derived(problem: Problem, pipeline: str) -> Iterable[tuple[str, z3.ArithRef]]:
    spread = spread_dims(problem)
    promotes = pipeline == PROMOTE
    yield "threads", _product(_wg(d) / _thread(d) for d in spread)
    yield "shared_bytes", _shared_bytes(problem) if promotes else z3.IntVal(0)
    yield "vectorized", z3.IntVal(int(pipeline != DISTRIBUTE))
    yield "promoted", z3.IntVal(int(promotes))
    yield "depth", z3.Int("pipeline_depth") if promotes else z3.IntVal(0)
    yield "stage", z3.Int("store_stage") if promotes else z3.IntVal(0)


def _shared_bytes(problem: Problem) -> z3.ArithRef:
    """Of both operands' tiles, as often as loads are in flight, and once more if stored early."""
    lhs, rhs = (o.bytes_per_element for o in problem.inputs)
    rows, columns = (_product(map(_wg, problem.by_role(r))) for r in ("m", "n"))
    copies = z3.Int("pipeline_depth") + 1 - z3.Int("store_stage")
    return copies * _step(problem) * (lhs * rows + rhs * columns)


def _step(problem: Problem) -> z3.ArithRef:
    return _product(z3.Int(f"red_{d.name}") for d in problem.dims if not d.parallel)


def _wg(dim: Dim) -> z3.ArithRef:
    return z3.Int(f"wg_{dim.name}")


def _thread(dim: Dim) -> z3.ArithRef:
    return z3.Int(f"thread_{dim.name}")


def _product(factors: Iterable[z3.ArithRef]) -> z3.ArithRef:
    return math.prod(factors, start=z3.IntVal(1))


def _fills_vectors(tile: int) -> bool:
    """Powers of two and three times those, and other small ones: vectors have 2, 3 or 4 values."""
    return tile // (tile & -tile) in (1, 3) or tile <= 8


def _divisors(size: int, most: int) -> tuple[int, ...]:
    return tuple(t for t in range(1, min(size, most) + 1) if size % t == 0)


def _reductions(dim: Dim) -> tuple[int, ...]:
    """A step of the reduction; a window's loops are stepped through one by one."""
    return (1,) if dim.name.startswith("f") else _divisors(dim.size, MAX_REDUCTION)


def _tiles(size: int) -> tuple[int, ...]:
    """Powers of two, up to the one that covers the loop."""
    return tuple(1 << n for n in range((size - 1).bit_length() + 1) if 1 << n <= MAX_TILE)
