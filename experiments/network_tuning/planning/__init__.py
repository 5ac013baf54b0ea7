"""What tuning a model is asked to do, what it plans, and the folder that keeps both."""

from typing import TYPE_CHECKING

from ....core.lazy import exports

if TYPE_CHECKING:
    from .folder import FLAGS, MAKE_ROOM, NetworkFolder, open_new_folder
    from .options import NetworkOptions, function_weights
    from .plan import NO_TIME, OTHERS, TIME_UP, HotDispatch, Plan, SkippedDispatch, make_plan
    from .variants import (
        AUTO,
        NO_CHANGE,
        PLAIN,
        OptionVariant,
        TriedVariants,
        VariantOutcome,
        named,
        read_variants,
        variants_of,
    )
else:
    __getattr__ = exports(__name__)

__all__ = [
    "AUTO",
    "FLAGS",
    "MAKE_ROOM",
    "NO_CHANGE",
    "NO_TIME",
    "OTHERS",
    "PLAIN",
    "TIME_UP",
    "HotDispatch",
    "NetworkFolder",
    "NetworkOptions",
    "OptionVariant",
    "Plan",
    "SkippedDispatch",
    "TriedVariants",
    "VariantOutcome",
    "function_weights",
    "make_plan",
    "named",
    "open_new_folder",
    "read_variants",
    "variants_of",
]
