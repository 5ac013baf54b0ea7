"""GPU memory: traffic against arithmetic, shared memory, and how wide threads load."""

from __future__ import annotations

import numpy as np

from ..registry import Theme
from ..view import Column
from .view import INPUTS, GpuView

BANK = 4

theme = Theme("memory")


@theme.feature
def shared_share(view: GpuView) -> Column:
    """Shared memory of a workgroup over what one may use: above 1 it fails."""
    return view.shared / view.gpu.shared_bytes


@theme.feature
def workgroup_intensity_log2(view: GpuView) -> Column:
    """log2 of operations per byte that a workgroup loads: low values are limited by memory."""
    return np.log2(view.step_flops / _loaded(view))


@theme.feature
def traffic_log2(view: GpuView) -> Column:
    """log2 of bytes that all workgroups load over the inputs' bytes: reuse left to the caches."""
    loaded = view["workgroups"] * view.steps * _loaded(view)
    return np.log2(loaded / max(sum(view.bytes_of(slot) for slot in INPUTS), 1))


@theme.feature
def wave_l2_log2(view: GpuView) -> Column:
    """log2 of what all units load in one step over L2: above 0 they cannot share it there."""
    units = np.minimum(view["workgroups"], view.cores * view.resident_workgroups)
    return np.log2(units * _loaded(view) / max(view.target.cache_bytes[1], 1))


@theme.each("loads_{}_log2", INPUTS)
def loads(view: GpuView, slot: str) -> Column:
    """log2 of a thread's bytes of the {} per step over its widest load: narrow below 0."""
    return np.log2(_per_thread(view, slot) / view.load_bytes)


@theme.feature
def uneven_copies(view: GpuView) -> Column:
    """Inputs whose rows threads cannot share out in equal runs of full loads: masked, if at all."""
    uneven = view.constant(0)
    for operand in (*view.slots["lhs"], *view.slots["rhs"]):
        run = view.contiguous_bytes(operand)
        loads, rows = np.ceil(run / view.load_bytes), view.step_bytes_of(operand) / run
        at_once = view["threads"] / loads
        whole_rows = (at_once % 1 == 0) & ((rows % at_once == 0) | (rows < at_once))
        uneven = uneven + ~(whole_rows | (loads % view["threads"] == 0))
    return uneven


@theme.feature
def uneven_vector_distribute(view: GpuView) -> Column:
    """`uneven_copies` under VectorDistribute, else 0: it finds no layout for them, and fails."""
    # Without matrix instructions, as for reductions, nothing is copied to shared memory for them.
    return uneven_copies(view) * view["vector_distribute"] * (view["mma_m"] > 1)


@theme.each("run_{}_log2", INPUTS)
def run(view: GpuView, slot: str) -> Column:
    """log2 of contiguous bytes of the {} in a step: short runs waste what is fetched with them."""
    return np.log2(view.min_contiguous_bytes(slot))


@theme.each("line_use_{}", INPUTS)
def line_use(view: GpuView, slot: str) -> Column:
    """The used share of the lines or sectors that a step fetches of the {}: the rest is waste."""
    length = view.min_contiguous_bytes(slot)
    fetched: Column = np.ceil(length / view.unit.line_bytes) * view.unit.line_bytes
    return length / fetched


@theme.feature
def thread_run_log2(view: GpuView) -> Column:
    """log2 of a thread's run of outputs over its widest load: above 0 neighbours are far apart."""
    (out,) = view.slots["out"]
    loop = view.inner_loop(out)
    own = view["thread_n"] if loop is None else view.thread_tile_of(loop)
    return np.log2(own * out.bytes_per_element / view.load_bytes)


@theme.each("bank_stride_{}", INPUTS)
def bank_stride(view: GpuView, slot: str) -> Column:
    """log2 of how many rows of the {} share a shared-memory bank: they are read one by one."""
    words = np.maximum(np.floor(view.min_contiguous_bytes(slot) / BANK), 1)
    shared = np.gcd(words.astype(np.int64), view.gpu.banks)
    return np.asarray(np.log2(shared), dtype=np.float64)


@theme.feature
def bank_padding(view: GpuView) -> Column:
    """1 where rows in shared memory are padded, else 0: it avoids bank conflicts for some room."""
    return view["bank_padding"]


@theme.feature
def stages(view: GpuView) -> Column:
    """Steps of the main loop in flight at once: they hide latency, and take registers."""
    return view["stages"]


def _loaded(view: GpuView) -> Column:
    """Bytes that a workgroup loads per step."""
    return view.step_bytes["lhs"] + view.step_bytes["rhs"]


def _per_thread(view: GpuView, slot: str) -> Column:
    return view.step_bytes[slot] / view["threads"]
