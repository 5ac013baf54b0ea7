"""The catalogues: every feature there is, in the order of the columns, each list under one version.

To add a feature, declare it in the module of its theme. Then raise the catalogue's version and
regenerate the golden files with `python tests/features/golden.py`: a predictor trained on other
features is refused when it is loaded, and the version is how.
"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from ..search import Problem, Target
from .cpu import CPU
from .generic import generic_of
from .gpu import GPU
from .registry import Catalogue

CATALOGUES = (CPU, GPU)


def catalogue_for(target: Target) -> Catalogue:
    """The features that candidates for a target have."""
    return GPU if target.gpu else CPU


def catalogue_of(columns: Iterable[str]) -> Catalogue | None:
    """The catalogue that a frame with these columns was computed with; None if with none."""
    present = set(columns)
    shares = {c.name: len(present & set(c.names)) / len(c.names) for c in CATALOGUES}
    best = max(CATALOGUES, key=lambda c: shares[c.name])
    return best if shares[best.name] else generic_of(present)


def extract(problem: Problem, target: Target, candidates: pd.DataFrame) -> pd.DataFrame:
    """Computes all features of all candidates.

    Args:
        problem: what the candidates are for.
        target: what they are compiled for.
        candidates: one row per candidate, one integer column per knob; for GPUs, also those
            of `frontrunner.search.enumeration.derive`.

    Returns:
        A float32 frame with the names of the target's catalogue as columns, and the candidates'
        index. The columns are the same for every kind of problem; all values are finite.

    Raises:
        InputError: a derived column is missing.
    """
    catalogue = catalogue_for(target)
    return catalogue.compute(catalogue.view(problem, target, candidates))
