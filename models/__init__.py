"""Rankers, which order candidates, and how a trained one is kept."""

from typing import TYPE_CHECKING

from ..core.lazy import exports

if TYPE_CHECKING:
    from .ranker import BASE, AdaptiveRanker, Ranker, Reason, Scores, listing, matrix, order
    from .registry import (
        ENTRY_POINTS,
        RankerInfo,
        create,
        default_ranker,
        known,
        ranker_class,
        ranker_names,
    )
    from .resolving import is_file, resolve
    from .storage import is_saved, load, read_manifest, save
    from .training import TIME
else:
    __getattr__ = exports(__name__)

__all__ = [
    "BASE",
    "ENTRY_POINTS",
    "TIME",
    "AdaptiveRanker",
    "Ranker",
    "RankerInfo",
    "Reason",
    "Scores",
    "create",
    "default_ranker",
    "is_file",
    "is_saved",
    "known",
    "listing",
    "load",
    "matrix",
    "order",
    "ranker_class",
    "ranker_names",
    "read_manifest",
    "resolve",
    "save",
]
