"""Predictors: what they learn from, how they are trained, why they say what they say."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .cases import ENDINGS, Case, Files, chip, group_frame, paths_of, read_cases, without_killed
    from .explanations import Choice, Explained, Score, Share, explain
    from .parameters import read_settings
    from .pool import Pool
    from .predictors import Trained, train
    from .provenance import describe, digest, elsewhere, told
else:
    __getattr__ = exports(__name__)

__all__ = [
    "ENDINGS",
    "Case",
    "Choice",
    "Explained",
    "Files",
    "Pool",
    "Score",
    "Share",
    "Trained",
    "chip",
    "describe",
    "digest",
    "elsewhere",
    "explain",
    "group_frame",
    "paths_of",
    "read_cases",
    "read_settings",
    "told",
    "train",
    "without_killed",
]
