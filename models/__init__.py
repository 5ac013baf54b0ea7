"""Rankers, which order candidates, and how a trained one is kept."""

from typing import TYPE_CHECKING

from ..core.lazy import exports

if TYPE_CHECKING:
    from .ordering import order, order_chunks
    from .ranker import (
        BASE,
        READY,
        AdaptiveRanker,
        Ranker,
        Reason,
        Scores,
        feature_matrix,
        join_names,
    )
    from .registry import (
        BUILT_IN,
        ENTRY_POINTS,
        RankerInfo,
        create_ranker,
        default_ranker,
        list_rankers,
        ranker_class,
        ranker_names,
        ready_rankers,
    )
    from .resolving import names_a_file, resolve_ranker
    from .storage import is_saved, load, save
    from .training import TIME_COLUMN
else:
    __getattr__ = exports(__name__)

__all__ = [
    "BASE",
    "BUILT_IN",
    "ENTRY_POINTS",
    "READY",
    "TIME_COLUMN",
    "AdaptiveRanker",
    "Ranker",
    "RankerInfo",
    "Reason",
    "Scores",
    "create_ranker",
    "default_ranker",
    "feature_matrix",
    "is_saved",
    "join_names",
    "list_rankers",
    "load",
    "names_a_file",
    "order",
    "order_chunks",
    "ranker_class",
    "ranker_names",
    "ready_rankers",
    "resolve_ranker",
    "save",
]
