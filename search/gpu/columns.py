"""What GPU spaces share: derived columns, extra knobs, tiles and rounding in Z3."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import z3

from ..backend import backend_named
from ..problem import Intrinsic, Problem, Target
from ..space import Constraint, Knob

# The table in `space.py`, with what stands where a thing does not apply.
COLUMNS = {
    **dict.fromkeys(("tile_batch", "tile_m", "tile_n", "tile_k"), 1),
    **dict.fromkeys(("subgroups_m", "subgroups_n", "subgroups_k"), 1),
    **dict.fromkeys(("mma_m", "mma_n", "mma_k", "qk_m", "qk_n", "qk_k"), 1),
    **dict.fromkeys(("thread_m", "thread_n", "thread_k", "lanes_k"), 1),
    **dict.fromkeys(("subgroup_size", "threads", "workgroups"), 1),
    **dict.fromkeys(("shared_bytes", "vector_distribute", "igemm", "stages"), 0),
    **dict.fromkeys(("bank_padding", "waves_per_eu", "flush_denormals"), 0),
}

Number: TypeAlias = int | z3.ArithRef


def columns(
    known: Mapping[str, Number], extras: Iterable[Knob]
) -> tuple[tuple[str, z3.ArithRef], ...]:
    """All derived columns: what is known, the extra knobs, and 1 or 0 for the rest."""
    values = {**COLUMNS, **known, **{k.name: k.var for k in extras}}
    for axis in ("m", "n", "k"):
        values[f"qk_{axis}"] = known.get(f"qk_{axis}", values[f"mma_{axis}"])
    return tuple((n, z3.IntVal(v) if isinstance(v, int) else v) for n, v in values.items())


def extra_knobs(
    target: Target, extras: Mapping[str, tuple[int, ...]], useful: Iterable[str]
) -> tuple[Knob, ...]:
    """Knobs for those extras that do something on the target and in the pipeline."""
    names = [n for n in useful if n in extras and n in backend_named(target.backend).extras]
    return tuple(Knob(n, tuple(sorted(extras[n]))) for n in names)


def intrinsics(problem: Problem, target: Target) -> tuple[Intrinsic, ...]:
    """The matrix instructions that the compiler can use, in its order.

    Those of blocks (`_4B_`) multiply batches and WMMA's on NVIDIA have no known layout: the
    compiler uses neither. Sums are in the output's type: the compiler may keep those of f16 and
    bf16 in f32, but then fails to write them (in 9 of 9 products and convolutions on gfx942,
    gfx1100, gfx1201 and sm_80, all such candidates, and none of the others).
    """
    assert target.gpu is not None
    lhs, rhs, out = (o.dtype for o in problem.operands)
    usable = (
        i
        for i in target.gpu.intrinsics
        if i.types == (lhs, rhs, out)
        if not i.name.startswith("NV_WMMA") and "B_" not in i.name
    )
    return tuple(usable)


def fits_registers(target: Target, sums: Number, bits: int, threads: Number = 1) -> Constraint:
    """What spills took 20 to over 60 s to compile on gfx942.

    On an H200, the fastest that do took 1.5 to 49 times the best's time (eight dispatches).

    Args:
        bits: of a sum.
    """
    assert target.gpu is not None
    fit = sums * bits <= target.gpu.register_bits * threads
    return Constraint("sums fit a thread's registers", fit, prunes=True)


def fits_chip(
    target: Target, shared: z3.ArithRef, tiles: Iterable[Sequence[Number]], padded: Number = 1
) -> Iterator[Constraint]:
    """That padded tiles fit the shared memory of sm_86, which IREE takes for that of sm_80.

    Against bank conflicts, IREE makes rows 8 bytes longer, unless the limit that it knows forbids:
    256x512 with a step of 64 in bf16 takes 104,448 bytes, and a workgroup may have 101,376.

    Args:
        tiles: that lie in shared memory, each as its sizes, the contiguous one last.
        padded: whether they are, or how many are.
    """
    if target.arch != "sm_86":
        return
    assert target.gpu is not None
    rows = total(product(outer) for *outer, _ in tiles)
    fits = shared + 8 * padded * rows <= target.gpu.shared_bytes
    reason = "tiles fit the chip's shared memory, not that of sm_80"
    yield Constraint(reason, fits, known_failure=True)


def product(factors: Iterable[Number]) -> z3.ArithRef:
    return math.prod(factors, start=z3.IntVal(1))


def total(parts: Iterable[Number]) -> z3.ArithRef:
    return sum(parts, start=z3.IntVal(0))


def ceil_div(size: int, tile: z3.ArithRef) -> z3.ArithRef:
    return (size + tile - 1) / tile


def attention_bytes(problem: Problem, width: int, tile: Mapping[str, z3.ArithRef]) -> z3.ArithRef:
    """Of shared memory: all of the rows' queries, and keys and values of a step.

    Args:
        width: of a query.
    """
    query, key, value = (o.bytes_per_element for o in problem.inputs[:3])
    return query * tile["m"] * width + tile["k"] * (key * width + value * tile["n"])


def lookup(index: z3.ArithRef, values: Iterable[int]) -> z3.ArithRef:
    """The value at an index."""
    first, *rest = values
    found = z3.IntVal(first)
    for at, value in enumerate(rest, start=1):
        found = z3.If(index == at, z3.IntVal(value), found)
    return found


def align(size: int, step: int) -> int:
    return -(-size // step) * step


def powers(most: int) -> tuple[int, ...]:
    """Powers of two, up to a number."""
    return tuple(1 << i for i in range(most.bit_length()) if 1 << i <= most)


def padding_bound(size: int) -> int:
    """How far the compiler pads a loop for the sake of its tiles."""
    return align(size, 128) if size > 128 else align(size, 32) if size > 32 else size


def padded(tiles: Iterable[int], size: int) -> tuple[int, ...]:
    """Those tiles that pad a loop no further."""
    return tuple(t for t in tiles if align(size, t) <= padding_bound(size))
