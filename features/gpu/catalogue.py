"""Every feature of GPU candidates, in the order of the columns."""

from __future__ import annotations

from .. import context as problems
from ..registry import Catalogue, collect
from . import context, memory, parallel, tiles
from .view import GpuView

_MODULES = (tiles, parallel, memory, problems, context)

GPU = Catalogue("gpu", 4, GpuView, collect(module.theme for module in _MODULES), "GPUs")
