"""The hand-written order and its terms."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .cpu_terms import TERMS
    from .gpu_terms import GPU_TERMS
    from .heuristic import HeuristicRanker
else:
    __getattr__ = exports(__name__)

__all__ = ["GPU_TERMS", "TERMS", "HeuristicRanker"]
