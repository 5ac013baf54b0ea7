"""What all spaces for GPUs say of a workgroup's threads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import z3

from .problem import Gpu
from .space import Constraint


def full_subgroups(
    loops: Iterable[tuple[Sequence[int], Sequence[int]]], threads: z3.ArithRef, gpu: Gpu
) -> Iterator[Constraint]:
    """That no subgroup has idle threads, unless no tiles have as many threads as whole subgroups.

    So it is of loops with small or odd sizes.

    Args:
        loops: of each, the tiles that a workgroup may have, and those of a thread.
        threads: of a workgroup.
    """
    counts = {1}
    for wg, thread in loops:
        shares = {tile // own for tile in wg for own in thread if tile % own == 0}
        counts = {c * share for c in counts for share in shares if c * share <= gpu.max_threads}
    if any(c % gpu.subgroup_size == 0 for c in counts):
        yield Constraint("subgroups are full", threads % gpu.subgroup_size == 0, prunes=True)
