"""How GPU work spreads over compute units, their SIMDs and threads, and what fits there at once."""

from __future__ import annotations

import numpy as np

from ..registry import Theme
from ..view import Column
from .view import GpuView

theme = Theme("parallel")


@theme.feature
def workgroups_log2(view: GpuView) -> Column:
    """log2 of the number of workgroups: many balance well, each has a prologue."""
    return np.log2(view["workgroups"])


@theme.feature
def workgroups_per_core_log2(view: GpuView) -> Column:
    """log2 of workgroups per compute unit: below 0 units stay idle."""
    return np.log2(view["workgroups"] / view.cores)


@theme.feature
def idle_cores(view: GpuView) -> Column:
    """The share of compute units without any workgroup: lost for good."""
    return np.maximum(1 - view["workgroups"] / view.cores, 0)


@theme.feature
def wave_waste(view: GpuView) -> Column:
    """Rounding of workgroups up to whole waves over compute units, relative: quantization."""
    return _waste(view["workgroups"], view.cores)


@theme.feature
def resident_wave_waste(view: GpuView) -> Column:
    """The same with as many workgroups per unit as fit: the last wave has no others to hide it."""
    return _waste(view["workgroups"], view.cores * view.resident_workgroups)


@theme.feature
def simd_waste(view: GpuView) -> Column:
    """Rounding of a workgroup's subgroups up to the SIMDs of its unit, relative: uneven SIMDs."""
    return _waste(view.subgroups, view.gpu.simds)


@theme.feature
def critical_path_log2(view: GpuView) -> Column:
    """log2 of the busiest SIMD's subgroups over an even share: bounds the speed-up."""
    simds = view.gpu.simds
    each = np.ceil(view["workgroups"] / view.cores)
    busiest = np.ceil(each * view.subgroups / simds)
    return np.log2(busiest * view.cores * simds / (view["workgroups"] * view.subgroups))


@theme.feature
def threads_log2(view: GpuView) -> Column:
    """log2 of threads per workgroup: few hide little latency, many wait long at barriers."""
    return np.log2(view["threads"])


@theme.feature
def subgroups_per_simd_log2(view: GpuView) -> Column:
    """log2 of a workgroup's subgroups per SIMD: below 0 it leaves SIMDs to other workgroups."""
    return np.log2(view.subgroups / view.gpu.simds)


@theme.each("fits_{}_log2", ("shared", "threads", "registers"))
def fits(view: GpuView, resource: str) -> Column:
    """log2 of workgroups per unit that {} allow for: what limits occupancy."""
    return np.log2(view.fits[resource])


@theme.feature
def resident_log2(view: GpuView) -> Column:
    """log2 of workgroups that a unit holds at once: one computes while others wait at barriers."""
    return np.log2(view.resident_workgroups)


@theme.feature
def occupancy_log2(view: GpuView) -> Column:
    """log2 of subgroups that a SIMD holds at once: below 1 nothing hides latency."""
    return np.log2(
        np.minimum(view.resident_workgroups, _busy(view)) * view.subgroups / view.gpu.simds
    )


@theme.feature
def accumulator_share(view: GpuView) -> Column:
    """A thread's sums over the registers that it can address: near 1 they spill."""
    return view.accumulator_bits / view.gpu.register_bits


@theme.feature
def register_share(view: GpuView) -> Column:
    """A thread's sums and one instruction's operands over its registers: near 1 they spill."""
    return (view.accumulator_bits + view.operand_bits) / view.gpu.register_bits


@theme.feature
def waves_per_eu(view: GpuView) -> Column:
    """Subgroups per SIMD that registers are left for, 0 for the compiler's choice: many spill."""
    return view["waves_per_eu"]


@theme.feature
def flush_denormals(view: GpuView) -> Column:
    """1 where denormals are flushed to zero, else 0: conversions get cheaper."""
    return view["flush_denormals"]


def _waste(count: Column, unit: Column | int) -> Column:
    return np.ceil(count / unit) * unit / count - 1


def _busy(view: GpuView) -> Column:
    """Workgroups that there are for a unit."""
    return np.ceil(view["workgroups"] / view.cores)
