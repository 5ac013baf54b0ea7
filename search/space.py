"""A Space: knobs with finite domains, constraints among them, and how a candidate is rendered.

Candidates are rows of a frame with one integer column per knob. CPU spaces name a knob after its
tiling level and dim, such as `dist_m` or `vec_k`; the levels are:

| level | the tile that |
| --- | --- |
| `dist` | one workgroup computes (parallel dims) |
| `cache` | a loop inside the workgroup steps over, sized for a cache (all dims) |
| `vec` | is unrolled into vector registers (all dims) |

A tile is always a positive size; one as large as the enclosing tile means "not tiled here".

GPU spaces keep the knob names of the compiler, which differ by pipeline. What a candidate means is
said by derived columns, stated as Z3 expressions over the knobs and the same for all GPU spaces:

| column | what |
| --- | --- |
| `tile_batch`, `tile_m`, `tile_n` | points of the roles' loops that one workgroup computes |
| `tile_k` | reduction points that one step of its main loop covers |
| `subgroups_m`, `subgroups_n`, `subgroups_k` | subgroups side by side along a role |
| `mma_m`, `mma_n`, `mma_k` | shape of the matrix instruction; 1 where none is used |
| `qk_m`, `qk_n`, `qk_k` | shape of attention's first product's; the same as `mma_*` elsewhere |
| `subgroup_size`, `threads` | threads of a subgroup and of a workgroup |
| `workgroups` | how many the problem takes |
| `shared_bytes` | shared memory that the tiles of one workgroup need |
| `vector_distribute`, `igemm` | 1 for that pipeline; for a convolution made a matmul |
| `stages`, `bank_padding`, `waves_per_eu`, `flush_denormals` | the extra knobs' values |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import z3

from .problem import Problem, Target


@dataclass(frozen=True)
class Knob:
    """One decision, with the values it may take, in ascending order."""

    name: str
    values: tuple[int, ...]

    @property
    def var(self) -> z3.ArithRef:
        return z3.Int(self.name)


@dataclass(frozen=True)
class Constraint:
    """A Z3 formula over knobs, with the reason for it.

    Attributes:
        prunes: whether it keeps out what would be slow, rather than what would fail.
    """

    reason: str
    formula: z3.BoolRef
    prunes: bool = False


@dataclass(frozen=True, eq=False)
class Space:
    """All candidates of one Problem for one codegen pipeline.

    Attributes:
        render: turns one candidate (knob name to value) into the text of a `compilation_info`
            attribute.
        derived: columns that tell what a candidate means, as Z3 expressions over the knobs.
    """

    problem: Problem
    target: Target
    pipeline: str
    knobs: tuple[Knob, ...]
    constraints: tuple[Constraint, ...]
    render: Callable[[Mapping[str, int]], str]
    derived: tuple[tuple[str, z3.ArithRef], ...] = ()
