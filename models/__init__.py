"""Rankers, which order candidates, and how a trained one is kept."""

from .gpu_terms import GPU_TERMS
from .ranker import AdaptiveRanker, Ranker, Scores, order
from .registry import ENTRY_POINTS, RankerInfo, create, default_ranker, known, ranker_class, resolve
from .storage import load, read_manifest, save
from .terms import TERMS, Term

__all__ = [
    "ENTRY_POINTS",
    "GPU_TERMS",
    "TERMS",
    "AdaptiveRanker",
    "Ranker",
    "RankerInfo",
    "Scores",
    "Term",
    "create",
    "default_ranker",
    "known",
    "load",
    "order",
    "ranker_class",
    "read_manifest",
    "resolve",
    "save",
]
