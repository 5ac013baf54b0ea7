"""Every feature of CPU candidates, in the order of the columns."""

from __future__ import annotations

from .. import context as problems
from ..registry import Catalogue, collect
from . import access, context, cost, memory, parallel, quantization, registers, shape
from .cost_view import CostView

_MODULES = (shape, quantization, registers, memory, access, parallel, cost, problems, context)

# What tells the innermost tile of a workgroup, but not how many such tiles there are, and where.
_REGISTER_TILE = (
    *("vec_batch_log2", "vec_m_log2", "vec_n_log2", "vec_k_log2", "vec_waste", "peel"),
    *("loads_per_fma", "independent_chains_log2"),
    *("inner_vectors_lhs", "inner_vectors_rhs", "inner_vectors_out"),
)

_FEATURES = collect(module.theme for module in _MODULES)

CPU = Catalogue("cpu", 4, CostView, _FEATURES, "CPUs", _REGISTER_TILE)
