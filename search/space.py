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
| `thread_m`, `thread_n`, `thread_k` | a thread's tile or vector; 1 where instructions multiply |
| `lanes_k` | threads of a subgroup that share a sum |
| `subgroup_size`, `threads` | threads of a subgroup and of a workgroup |
| `workgroups` | how many the problem takes |
| `shared_bytes` | shared memory that the tiles of one workgroup need |
| `vector_distribute`, `igemm` | 1 for that pipeline; for a convolution made a matmul |
| `stages`, `bank_padding`, `waves_per_eu`, `flush_denormals` | the extra knobs' values |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import z3
from z3.z3util import get_vars

from ..core import WorkError
from .problem import Problem, Target


class CannotRender(WorkError):
    """The compiler does not make attributes of a configuration, or crashes over it."""


@dataclass(frozen=True)
class Knob:
    """One decision, with the values it may take, in ascending order."""

    name: str
    values: tuple[int, ...]

    def __post_init__(self) -> None:
        if any(a >= b for a, b in pairwise(self.values)):
            raise ValueError(f"values of knob {self.name!r} have to ascend, got {self.values}")

    @property
    def var(self) -> z3.ArithRef:
        return z3.Int(self.name)


@dataclass(frozen=True)
class Constraint:
    """A Z3 formula over knobs, with the reason for it.

    Attributes:
        prunes: whether it keeps out what would be slow, rather than what would fail.
        known_failure: whether it keeps out what the compiler lets in and then fails over; fuzzers
            may be after that.
    """

    reason: str
    formula: z3.BoolRef
    prunes: bool = False
    known_failure: bool = False


@dataclass(frozen=True, eq=False)
class Space:
    """All candidates of one Problem for one codegen pipeline.

    Attributes:
        problem: what the pipeline compiles (`compiled_problem`), whose loops features and knobs are
            about.
        render: turns one candidate (knob name to value) into the text of a `compilation_info`
            attribute; raises `CannotRender` where there is none.
        derived: columns that tell what a candidate means, as Z3 expressions over the knobs.
        default: the candidate that the compiler chooses by itself; None if it is of another
            pipeline, or not known.
    """

    problem: Problem
    target: Target
    pipeline: str
    knobs: tuple[Knob, ...]
    constraints: tuple[Constraint, ...]
    render: Callable[[Mapping[str, int]], str]
    derived: tuple[tuple[str, z3.ArithRef], ...] = ()
    default: Mapping[str, int] | None = None

    @property
    def unpruned(self) -> Space:
        """The space with what would be slow, and with what is known to fail."""
        kept = tuple(c for c in self.constraints if not (c.prunes or c.known_failure))
        return replace(self, constraints=kept)

    def allows(self, candidate: Mapping[str, int]) -> bool:
        """Whether a candidate meets all constraints; it has a value for each knob."""
        values = [(k.var, z3.IntVal(candidate[k.name])) for k in self.knobs]
        return all(_holds(c.formula, values) for c in self.constraints)

    def with_default(self, candidate: Mapping[str, int], written: str = "") -> Space:
        """The space with the compiler's own choice in it.

        A constraint that keeps it out is also met where all its knobs are as the compiler chose
        them, so that candidates near the default are in the space, too.

        Args:
            candidate: a value for each knob, and maybe for others, which are left out.
            written: what the compiler wrote, which it is rendered as. A tile of a whole loop, as
                its size or as 0, is compiled to other code (53x29x17 on AVX2).
        """
        chosen = {k.name: candidate[k.name] for k in self.knobs}
        values = [(k.var, z3.IntVal(chosen[k.name])) for k in self.knobs]
        return replace(
            self,
            knobs=tuple(Knob(k.name, _with(k.values, chosen[k.name])) for k in self.knobs),
            constraints=tuple(_admit(c, values) for c in self.constraints),
            default=chosen,
            render=partial(_render, self.render, chosen, written) if written else self.render,
        )


def _with(values: tuple[int, ...], value: int) -> tuple[int, ...]:
    return tuple(sorted({*values, value}))


def _render(
    usual: Callable[[Mapping[str, int]], str],
    chosen: Mapping[str, int],
    written: str,
    candidate: Mapping[str, int],
) -> str:
    """The compiler's own configuration as it wrote it, others as usual."""
    return written if candidate == chosen else usual(candidate)


def _holds(formula: z3.BoolRef, values: Sequence[tuple[z3.ArithRef, z3.IntNumRef]]) -> bool:
    holds: bool = z3.is_true(z3.simplify(z3.substitute(formula, *values)))
    return holds


def _admit(
    constraint: Constraint, candidate: Sequence[tuple[z3.ArithRef, z3.IntNumRef]]
) -> Constraint:
    """The constraint, widened if it forbids the candidate, which has a value for each knob."""
    if _holds(constraint.formula, candidate):
        return constraint
    # Finding a formula's knobs takes eight times as long as evaluating it, and few are broken.
    used = set(map(str, get_vars(constraint.formula)))
    same = z3.And([var == value for var, value in candidate if str(var) in used])
    return replace(constraint, formula=z3.Or(constraint.formula, same))
