"""A Space: knobs with finite domains, constraints among them, and how a candidate is rendered.

Candidates are rows of a frame with one integer column per knob. CPU spaces name a knob after its
tiling level and dim, such as `dist_m` or `vec_k`; the levels are:

| level | the tile that |
| --- | --- |
| `dist` | one workgroup computes (parallel dims) |
| `cache` | a loop inside the workgroup steps over, sized for a cache (all dims) |
| `vec` | is unrolled into vector registers (all dims) |

A tile is always a positive size; one as large as the enclosing tile means "not tiled here".
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


@dataclass(frozen=True)
class Space:
    """All candidates of one Problem for one codegen pipeline.

    Attributes:
        render: turns one candidate (knob name to value) into the text of a `compilation_info`
            attribute.
    """

    problem: Problem
    target: Target
    pipeline: str
    knobs: tuple[Knob, ...]
    constraints: tuple[Constraint, ...]
    render: Callable[[Mapping[str, int]], str]
