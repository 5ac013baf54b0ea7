"""Rankers, which order candidates, and how a trained one is kept."""

from .gpu_terms import GPU_TERMS
from .ranker import BASE, AdaptiveRanker, Ranker, Reason, Scores, order
from .registry import (
    ENTRY_POINTS,
    RankerInfo,
    create,
    default_ranker,
    is_file,
    known,
    ranker_class,
    resolve,
)
from .storage import is_saved, load, read_manifest, save
from .terms import TERMS, Term

__all__ = [
    "BASE",
    "ENTRY_POINTS",
    "GPU_TERMS",
    "TERMS",
    "AdaptiveRanker",
    "Ranker",
    "RankerInfo",
    "Reason",
    "Scores",
    "Term",
    "create",
    "default_ranker",
    "is_file",
    "is_saved",
    "known",
    "load",
    "order",
    "ranker_class",
    "read_manifest",
    "resolve",
    "save",
]
