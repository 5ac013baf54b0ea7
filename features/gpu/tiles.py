"""GPU tiles and matrix instructions: sizes, powers of two, proportions."""

from __future__ import annotations

import numpy as np

from ..registry import Theme
from ..view import Column, is_pow2
from .view import SIDES, GpuView

theme = Theme("tiles")


@theme.each("tile_{}_log2", SIDES)
def tile_log2(view: GpuView, side: str) -> Column:
    """log2 of the workgroup tile's {} size: the grain of parallelism and of reuse."""
    return np.log2(view.tile[side])


@theme.each("tile_{}_pow2", SIDES)
def tile_pow2(view: GpuView, side: str) -> Column:
    """1 where the workgroup tile's {} size is a power of two: threads and loads divide it."""
    return is_pow2(view.tile[side])


@theme.feature
def odd_tiles(view: GpuView) -> Column:
    """How many sides of the workgroup tile are no powers of two: uneven copies, odd addresses."""
    return sum((1 - is_pow2(view.tile[side]) for side in SIDES), start=view.constant(0))


@theme.feature
def tile_aspect_log2(view: GpuView) -> Column:
    """log2 of the workgroup tile's n over m: which operand it reads more of; square reads least."""
    return np.log2(view.tile["n"] / view.tile["m"])


@theme.feature
def tile_area_log2(view: GpuView) -> Column:
    """log2 of the outputs of a workgroup: large ones reuse much, and are few."""
    return np.log2(view["tile_batch"] * view.tile["m"] * view.tile["n"])


@theme.feature
def padding(view: GpuView) -> Column:
    """Work beyond what there is, relative: tiles that do not divide, scores computed again."""
    return view.padding - 1


@theme.feature
def k_padding(view: GpuView) -> Column:
    """Reduction points beyond those there are, relative: a last step that is not full."""
    return view.steps * view.tile["k"] / view.depth - 1


@theme.each("subgroups_{}_log2", SIDES)
def subgroups_log2(view: GpuView, side: str) -> Column:
    """log2 of subgroups side by side along {}: each one loads its share of the other side anew."""
    return np.log2(view[f"subgroups_{side}"])


@theme.each("fragments_{}_log2", SIDES)
def fragments_log2(view: GpuView, side: str) -> Column:
    """log2 of matrix instructions along {} in a subgroup's tile: reuse of loaded operands."""
    return np.log2(view.fragments[side])


@theme.feature
def subgroup_aspect_log2(view: GpuView) -> Column:
    """log2 of a subgroup tile's n over m: square ones load least for their products."""
    rows = view.tile["m"] / view["subgroups_m"]
    return np.log2(view.tile["n"] / view["subgroups_n"] / rows)


@theme.feature
def fragment_loads(view: GpuView) -> Column:
    """Operand fragments per matrix instruction of a subgroup: above 1/2 shared memory limits."""
    return 1 / view.fragments["m"] + 1 / view.fragments["n"]


@theme.feature
def mma_per_step_log2(view: GpuView) -> Column:
    """log2 of a subgroup's matrix instructions per step of the main loop: work between barriers."""
    return np.log2(view.fragments["m"] * view.fragments["n"] * view.fragments["k"])


@theme.each("thread_{}_log2", SIDES)
def thread_log2(view: GpuView, side: str) -> Column:
    """log2 of a thread's own tile along {}, or of its vector: 0 where instructions multiply."""
    return np.log2(view[f"thread_{side}"])


@theme.feature
def thread_loads(view: GpuView) -> Column:
    """Operands per multiply-add of a thread's own tile, else 0: many are waited for."""
    loads: Column = 1 / view["thread_m"] + 1 / view["thread_n"]
    alone: Column = (view["mma_m"] == 1) & (view["vector_distribute"] == 0)
    return loads * alone


@theme.feature
def lanes_k_log2(view: GpuView) -> Column:
    """log2 of the threads of a subgroup that share a sum: they exchange it step by step."""
    return np.log2(view["lanes_k"])


@theme.each("mma_{}_log2", SIDES)
def mma_log2(view: GpuView, side: str) -> Column:
    """log2 of the matrix instruction's {} size: 0 where none is used."""
    return np.log2(view[f"mma_{side}"])


@theme.feature
def mma_area_to_volume(view: GpuView) -> Column:
    """(mn + nk + mk) / mnk of the matrix instruction: elements touched per multiply-add."""
    return _area_to_volume(view, "mma")


@theme.feature
def qk_area_to_volume(view: GpuView) -> Column:
    """The same of attention's first product; elsewhere of the only one: it has its own choice."""
    return _area_to_volume(view, "qk")


@theme.feature
def qk_misfit(view: GpuView) -> Column:
    """1 where attention's scores of a step are no whole instructions, else 0: they do not pack."""
    scores = view.tile["k"] % view["qk_n"] if view.first_reduction else view.constant(0)
    return np.asarray(scores > 0, dtype=np.float64)


@theme.feature
def mma_reuse(view: GpuView) -> Column:
    """(m + n) / mn of the matrix instruction: operands per multiply-add while sums stay put."""
    return 1 / view["mma_m"] + 1 / view["mma_n"]


@theme.feature
def k_steps_log2(view: GpuView) -> Column:
    """log2 of the main loop's steps: a few do not pay for filling the pipeline."""
    return np.log2(view.steps)


@theme.feature
def vector_distribute(view: GpuView) -> Column:
    """1 for the pipeline VectorDistribute, else 0: it lays out and schedules in its own way."""
    return view["vector_distribute"]


@theme.feature
def igemm(view: GpuView) -> Column:
    """1 for a convolution made a matmul, else 0: windows are gathered, and any tile divides."""
    return view["igemm"]


def _area_to_volume(view: GpuView, product: str) -> Column:
    return sum((1 / view[f"{product}_{side}"] for side in SIDES), start=view.constant(0))
