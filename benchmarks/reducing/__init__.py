"""Makes reproducers small: takes away what a failure does not need, as long as its script fails.

Sizes are halved, fused ops dropped, knobs put back; nothing is measured here.
"""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .failure import EMISSION, Failure, Size, Variant
    from .reduction import Reduction, reduce_failure
    from .script import run_script
else:
    __getattr__ = exports(__name__)

__all__ = [
    "EMISSION",
    "Failure",
    "Reduction",
    "Size",
    "Variant",
    "reduce_failure",
    "run_script",
]
