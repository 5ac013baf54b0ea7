"""The hand-written order and its terms."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .cpu_terms import CPU_TERMS
    from .gpu_terms import GPU_TERMS
    from .heuristic import HeuristicRanker
    from .vulkan_terms import VULKAN_TERMS
else:
    __getattr__ = exports(__name__)

__all__ = ["CPU_TERMS", "GPU_TERMS", "VULKAN_TERMS", "HeuristicRanker"]
