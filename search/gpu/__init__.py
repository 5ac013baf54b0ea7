"""GPU spaces, those that the compiler states and our own, and how a choice is rendered."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .columns import EXTRAS, ONLY_ROCM
    from .rendering import CannotRender
    from .spaces import gpu_spaces
    from .target import describe_gpu, gpu_target
else:
    __getattr__ = exports(__name__)

__all__ = ["EXTRAS", "ONLY_ROCM", "CannotRender", "describe_gpu", "gpu_spaces", "gpu_target"]
