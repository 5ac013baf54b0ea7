"""Candidates in a ranker's order."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .candidates import (
        check_not_empty,
        check_queue,
        explained,
        features_of,
        make_queue,
        renderer,
        sample_with_features,
        spaces_of,
        with_derived,
    )
    from .configuration import Configuration
    from .ordering import AdaptiveOrder
else:
    __getattr__ = exports(__name__)

__all__ = [
    "AdaptiveOrder",
    "Configuration",
    "check_not_empty",
    "check_queue",
    "explained",
    "features_of",
    "make_queue",
    "renderer",
    "sample_with_features",
    "spaces_of",
    "with_derived",
]
