"""What is the same for all candidates: it lets a learned model tell problems and targets apart."""

from __future__ import annotations

import math

import numpy as np

from .registry import Theme
from .view import ROLES, Column, View

theme = Theme("context")
# Each has a one-hot feature in this version of the catalogues; any other kind is 0 in all of them.
KINDS = ("contraction", "convolution", "attention")


@theme.each("size_{}_log2", ROLES)
def size(view: View, role: str) -> Column:
    """log2 of the problem's {} size: which tiles pay depends on how large the problem is."""
    return view.constant(np.log2(math.prod(d.size for d in view.problem.by_role(role))))


@theme.feature
def flops_log2(view: View) -> float:
    """log2 of the problem's operations: small problems are ruled by overheads."""
    return float(np.log2(max(view.problem.flops, 1)))


@theme.feature
def intensity_log2(view: View) -> float:
    """log2 of operations per byte that must move: whether memory or arithmetic limits at best."""
    total = sum(view.bytes_of(slot) for slot in view.slots)
    return float(np.log2(view.problem.flops / max(total, 1)))


@theme.each("kind_{}", KINDS)
def kind(view: View, name: str) -> Column:
    """1 for a problem of kind {}, else 0: each kind has its own pipeline and so its own habits."""
    return view.constant(view.problem.kind == name)


@theme.feature
def depthwise(view: View) -> float:
    """1 for a depthwise convolution, else 0: it reuses nothing over channels, so memory rules."""
    return float(dict(view.problem.traits).get("depthwise", 0))


@theme.feature
def stride(view: View) -> float:
    """The convolution's stride, else 1: it spreads the reads of the image."""
    return float(dict(view.problem.traits).get("stride", 1))


@theme.feature
def fused_ops(view: View) -> float:
    """How many other compute ops share the dispatch: they bring operands and work of their own."""
    return float(len(view.problem.fused))


@theme.feature
def input_bytes(view: View) -> float:
    """Bytes per input element: how many fit in a vector."""
    operands = view.problem_slots["lhs"]
    return float(max((o.bytes_per_element for o in operands), default=0))


@theme.feature
def output_bytes(view: View) -> float:
    """Bytes per output element: how many accumulators fit in a vector."""
    return float(view.problem.output.bytes_per_element)


@theme.feature
def lhs_inner_is_k(view: View) -> float:
    """1 where the lhs is contiguous along a reduction, else 0: tells transposed layouts apart."""
    return _inner_is_reduction(view, "lhs")


@theme.feature
def rhs_inner_is_k(view: View) -> float:
    """1 where the rhs is contiguous along a reduction, else 0: tells transposed layouts apart."""
    return _inner_is_reduction(view, "rhs")


@theme.feature
def target_cores_log2(view: View) -> float:
    """log2 of the target's cores: how many workgroups keep it busy."""
    return float(np.log2(max(view.target.cores, 1)))


def _inner_is_reduction(view: View, slot: str) -> float:
    loops = [view.inner_loop(o) for o in view.problem_slots[slot]]
    return float(any(i is not None and not view.problem.dims[i].parallel for i in loops))
