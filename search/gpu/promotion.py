"""How a workgroup's threads share the copy of a tile to shared memory."""

from __future__ import annotations

from collections.abc import Sequence

import z3

from .columns import product

# A thread loads so much at a time.
_LOAD_BITS = 128


def even_copies(sizes: Sequence[z3.ArithRef], bits: int, threads: z3.ArithRef) -> list[z3.BoolRef]:
    """What has to hold for `VectorDistribute` to find a layout for the copy of a tile.

    Each thread takes a vector of the innermost dim, and threads are laid along the dims from there
    outwards; of the threads that are left and the vectors of a dim, one has to divide the other.
    Else it "failed to derive layout for promoted read-like op": so did all 817 of 1,260 candidates
    that break this (eight products and a convolution in f16, bf16, i8 and f64 on sm_80, gfx942 and
    gfx1100), and none of the others.

    Args:
        sizes: of the tile in memory, the contiguous one last.
    """
    *outer, inner = sizes
    width = _vector_width(inner, product(sizes) / threads, _LOAD_BITS // bits)
    left, rules = threads, []
    for size in (inner / width, *reversed(outer)):
        rules.append(z3.Or(left % size == 0, size % left == 0))
        left = z3.If(left % size == 0, left / size, z3.IntVal(1))
    return rules


def _vector_width(inner: z3.ArithRef, share: z3.ArithRef, most: int) -> z3.ArithRef:
    """The widest that divides the innermost dim and what a thread takes, up to a load."""
    for limit in (inner, z3.IntVal(most)):
        share = z3.If(share < limit, share, limit)
    width = z3.IntVal(1)
    for size in range(2, most + 1):
        width = z3.If(z3.And(share > 0, share % size == 0, inner % size == 0), size, width)
    return width
