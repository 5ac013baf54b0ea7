"""A GpuView: the candidates of a GPU space as workgroup tiles, subgroup tiles and instructions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from ...search import Dim, Operand, kind_of
from ...search.gpu import sum_bits
from ..view import Column, DerivedView
from .units import ComputeUnit, compute_unit

SIDES = ("m", "n", "k")
INPUTS = ("lhs", "rhs")


@dataclass(frozen=True, eq=False)
class GpuView(DerivedView):
    """Candidates of one GPU problem, seen the way that features look at them.

    `view["tile_m"]` is a derived column: `search/space.py` has the list of them.
    """

    what = "GPU"

    # Tiles --------------------------------------------------------------------------------------

    @cached_property
    def tile(self) -> dict[str, Column]:
        """By side: what one workgroup computes; of the reduction, in one step of its main loop."""
        return {side: self[f"tile_{side}"] for side in SIDES}

    @cached_property
    def fragments(self) -> dict[str, Column]:
        """By side: how many matrix instructions lie side by side in a subgroup's tile."""
        return {
            side: self.tile[side] / (self[f"subgroups_{side}"] * self[f"mma_{side}"])
            for side in SIDES
        }

    @cached_property
    def first_reduction(self) -> Dim | None:
        """The reduction of attention's first product, which each step does whole."""
        name = kind_of(self.problem).first_reduction
        return None if name is None else self.problem.dim(name)

    @cached_property
    def depth(self) -> int:
        """Reduction points that the main loop covers."""
        return math.prod(d.size for d in self.problem.by_role("k") if d != self.first_reduction)

    @cached_property
    def steps(self) -> Column:
        """Steps of a workgroup's main loop."""
        return np.ceil(self.depth / self.tile["k"])

    @cached_property
    def subgroups(self) -> Column:
        """Subgroups of a workgroup."""
        return np.ceil(self["threads"] / self["subgroup_size"])

    @cached_property
    def padding(self) -> Column:
        """Points that workgroups compute over points there are: tiles that do not divide.

        Of attention, each tile of the head's columns computes all scores of its rows again.
        """
        covered = self["workgroups"] * self["tile_batch"] * self.tile["m"] * self.tile["n"]
        padding: Column = covered / math.prod(d.size for d in self.problem.dims if d.parallel)
        if self.first_reduction is not None:
            head, width = self.problem.dim("n").size, self.first_reduction.size
            padding *= (head + width * np.ceil(head / self.tile["n"])) / (head + width)
        return padding

    def tile_of(self, loop: int) -> Column:
        """A workgroup's tile of one loop; of its role's loops together where no knob tells."""
        dim = self.problem.dims[loop]
        if dim.parallel:
            return self._of_loop(f"wg_{loop}", self[f"tile_{dim.role}"])
        # TileAndFuse counts its steps in instructions.
        unit = np.where(self["vector_distribute"] > 0, 1, self["mma_k"])
        return self._of_loop(f"red_{loop}", self["tile_k"] / unit) * unit

    def thread_tile_of(self, loop: int) -> Column:
        """A thread's tile of one loop, likewise."""
        role = self.problem.dims[loop].role
        together = self[f"thread_{role}"] if role in SIDES else self.constant(1)
        return self._of_loop(f"thread_{loop}", together)

    def _of_loop(self, knob: str, together: Column) -> Column:
        own = self.knob(knob)
        # Of a convolution that is made a matmul, knobs are numbered by the matmul's loops.
        return together if own is None else np.where(self["igemm"] > 0, together, own)

    # Bytes --------------------------------------------------------------------------------------

    def element_bytes(self, slot: str) -> int:
        return max((o.bytes_per_element for o in self.slots[slot]), default=1)

    def step_bytes_of(self, operand: Operand) -> Column:
        """Bytes of an input that one step of a workgroup's main loop needs."""
        dims = {self.problem.dims[loop] for expr in operand.index for loop, _ in expr}
        points = self.constant(operand.bytes_per_element)
        if self.first_reduction in dims:
            points = points * self.first_reduction.size
        for role in sorted({d.role for d in dims if d != self.first_reduction}):
            points = points * self[f"tile_{role}"]
        return points

    @cached_property
    def step_bytes(self) -> dict[str, Column]:
        """By input: what a workgroup loads in one step of its main loop."""
        found = {
            slot: sum(map(self.step_bytes_of, self.slots[slot]), start=self.constant(0))
            for slot in INPUTS
        }
        if self.first_reduction is not None:  # attention's query is loaded once
            found["lhs"] = found["lhs"] / self.steps
        return found

    def contiguous_bytes(self, operand: Operand) -> Column:
        """Contiguous bytes of an input in a workgroup's step."""
        loop = self.inner_loop(operand)
        if loop is None:
            return self.constant(operand.bytes_per_element)
        dim = self.problem.dims[loop]
        tile = dim.size if dim == self.first_reduction else self.tile_of(loop)
        return np.minimum(tile, dim.size) * operand.bytes_per_element

    def min_contiguous_bytes(self, slot: str) -> Column:
        """The least of the slot's operands."""
        runs = [self.contiguous_bytes(operand) for operand in self.slots[slot]]
        return reduce(np.minimum, runs) if runs else self.constant(self.load_bytes)

    @property
    def load_bytes(self) -> float:
        """Of a thread's widest load."""
        return self.gpu.load_bits / 8

    @cached_property
    def step_flops(self) -> Column:
        """Operations of a workgroup in one step, counted as `Problem.flops` counts them."""
        width = (
            self.tile["n"]
            if self.first_reduction is None
            else self.tile["n"] + self.first_reduction.size
        )
        return 2 * self["tile_batch"] * self.tile["m"] * self.tile["k"] * width

    @cached_property
    def shared(self) -> Column:
        """Bytes of shared memory; attention keeps its scores there too, beside the tiles."""
        if self.first_reduction is None:
            return self["shared_bytes"]
        scores = self["tile_batch"] * self.tile["m"] * self.tile["k"]
        return self["shared_bytes"] + scores * self.element_bytes("rhs")

    # Registers and occupancy --------------------------------------------------------------------

    @cached_property
    def accumulator_bits(self) -> Column:
        """Bits of one thread's sums: each subgroup along the reduction has its own."""
        points = self["tile_batch"] * self.tile["m"] * self.tile["n"] * self["subgroups_k"]
        packed, alone = sum_bits(self.problem, self.target), 8 * self.problem.sum_bytes
        return points * np.where(self["mma_m"] > 1, packed, alone) / self["threads"]

    @cached_property
    def operand_bits(self) -> Column:
        """Bits of one thread's operands for one instruction's depth of its subgroup's tile."""
        rows = [
            self.fragments[side] * self[f"mma_{side}"] * self.element_bytes(slot)
            for slot, side in zip(INPUTS, ("m", "n"), strict=True)
        ]
        copies = np.where(self["mma_m"] > 1, self.unit.operand_copies, 1)
        return copies * (rows[0] + rows[1]) * self["mma_k"] * 8 / self["subgroup_size"]

    @cached_property
    def unit(self) -> ComputeUnit:
        return compute_unit(self.target)

    @cached_property
    def fits(self) -> dict[str, Column]:
        """By resource: how many workgroups a compute unit has room for."""
        unit = self.unit
        bits = np.minimum(self.accumulator_bits + self.operand_bits, self.gpu.register_bits)
        lanes = self.subgroups * self["subgroup_size"]
        return {
            "shared": unit.shared_bytes / np.maximum(self.shared + unit.reserved_bytes, 1),
            "threads": np.minimum(unit.threads / self["threads"], unit.workgroups),
            "registers": self.gpu.simds * unit.register_bits / (lanes * bits),
        }

    @cached_property
    def resident_workgroups(self) -> Column:
        """Workgroups that a compute unit holds at once; at least one, as it runs all the same."""
        return np.maximum(np.floor(reduce(np.minimum, self.fits.values())), 1)
