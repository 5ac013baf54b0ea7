"""GPU spaces, those that the compiler states and our own, and how a choice is rendered."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .extras import EXTRA_KNOBS
    from .spaces import gpu_spaces
    from .sums import sum_bits
    from .target import gpu_target, largest_units
else:
    __getattr__ = exports(__name__)

__all__ = ["EXTRA_KNOBS", "gpu_spaces", "gpu_target", "largest_units", "sum_bits"]
