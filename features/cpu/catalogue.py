"""Every feature of CPU candidates, in the order of the columns."""

from __future__ import annotations

from .. import context as problems
from ..registry import Catalogue, collect
from . import access, context, memory, parallel, quantization, registers, shape
from .view import CpuView

_MODULES = (shape, quantization, registers, memory, access, parallel, problems, context)

CPU = Catalogue("cpu", 1, CpuView, collect(module.theme for module in _MODULES), "CPUs")
