"""Rankers, which order candidates, and how a trained one is kept."""

from .ranker import Ranker, Scores, order
from .registry import ENTRY_POINTS, RankerInfo, create, known, ranker_class, resolve
from .storage import load, read_manifest, save
from .terms import TERMS, Term

__all__ = [
    "ENTRY_POINTS",
    "TERMS",
    "Ranker",
    "RankerInfo",
    "Scores",
    "Term",
    "create",
    "known",
    "load",
    "order",
    "ranker_class",
    "read_manifest",
    "resolve",
    "save",
]
