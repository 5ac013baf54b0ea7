"""A VulkanView: the candidates of a Vulkan space as tiles of workgroups and of threads."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...search import Operand
from ..view import Column, DerivedView


@dataclass(frozen=True, eq=False)
class VulkanView(DerivedView):
    """Candidates of one Vulkan problem, seen the way that features look at them.

    `view["threads"]` is a derived column: `search/vulkan/spaces.py` states them.
    """

    what = "Vulkan"

    @cached_property
    def wg(self) -> tuple[Column, ...]:
        """By loop: what a workgroup computes; of a reduction, in one step."""
        return tuple(
            self[f"wg_{d.name}"] if d.parallel else self.steps_of(f"red_{d.name}")
            for d in self.problem.dims
        )

    @cached_property
    def thread(self) -> tuple[Column, ...]:
        """By loop: what a thread computes; of a reduction, in one step."""
        return tuple(
            self[f"thread_{d.name}"] if d.parallel else self.steps_of(f"red_{d.name}")
            for d in self.problem.dims
        )

    def steps_of(self, name: str) -> Column:
        """A step of a reduction; what is not tiled, or has no such knob, is added up one by one."""
        steps = self.knob(name)
        return self.constant(1) if steps is None else np.maximum(steps, 1)

    def points(self, tiles: tuple[Column, ...], *roles: str) -> Column:
        """Points of the roles' loops in tiles."""
        found = self.constant(1)
        for d, tile in zip(self.problem.dims, tiles, strict=True):
            if d.role in roles:
                found = found * tile
        return found

    @cached_property
    def sums(self) -> Column:
        """Outputs of a thread."""
        return self.points(self.thread, "batch", "m", "n")

    @cached_property
    def step(self) -> Column:
        """Reduction points of a step."""
        return self.points(self.wg, "k")

    @cached_property
    def workgroups(self) -> Column:
        found = self.constant(1)
        for d, tile in zip(self.problem.dims, self.wg, strict=True):
            if d.parallel:
                found = found * np.ceil(d.size / tile)
        return found

    @cached_property
    def padding(self) -> Column:
        """Points that workgroups cover over points there are."""
        size = math.prod(d.size for d in self.problem.dims if d.parallel)
        return self.workgroups * self.points(self.wg, "batch", "m", "n") / size

    def bytes_in(self, operand: Operand, tiles: tuple[Column, ...]) -> Column:
        """Bytes of an operand that tiles touch."""
        found = self.constant(operand.bytes_per_element)
        for terms in operand.index:
            found = found * (1 + sum(c * (tiles[loop] - 1) for loop, c in terms))
        return found

    def loads(self, tiles: tuple[Column, ...]) -> Column:
        """Bytes of all inputs that tiles touch."""
        inputs = (*self.slots["lhs"], *self.slots["rhs"])
        return sum((self.bytes_in(o, tiles) for o in inputs), start=self.constant(0))

    def inner_tile(self, slot: str, tiles: tuple[Column, ...]) -> Column:
        """Elements of a slot's first operand that follow each other in memory, in a tile."""
        loop = self.inner_loop(self.slots[slot][0])
        return self.constant(1) if loop is None else tiles[loop]

    @cached_property
    def registers(self) -> Column:
        """Bits of a thread's sums and of the operands of one step."""
        return 8 * (self.sums * self.problem.sum_bytes + self.loads(self.thread))
