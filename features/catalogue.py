"""The catalogues: every feature there is, in the order of the columns, each list under one version.

To add a feature, declare it in the module of its theme, and regenerate the golden files with
`python tests/features/golden.py`: what was trained without it goes on without it. To change the
meaning of a feature, or to drop one, raise the catalogue's version, too: predictors of another
version are refused when they are loaded.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import pandas as pd

from ..core import InputError, load_named_values
from ..search import Problem, Target, backend_named
from .cpu import CPU
from .generic import parse_generic_catalogue
from .gpu import GPU
from .registry import Catalogue
from .vulkan import VULKAN

ENTRY_POINTS = "frontrunner.catalogues"


@cache
def catalogues() -> tuple[Catalogue, ...]:
    """All catalogues: those of the package, then those of other packages.

    Raises:
        InputError: one of another package cannot be used.
    """
    built_in = (CPU, GPU, VULKAN)
    names = [catalogue.name for catalogue in built_in]
    shown_as = "frontrunner.features.Catalogue"
    return (*built_in, *load_named_values(ENTRY_POINTS, Catalogue, shown_as, names))


def catalogue_for_target(target: Target) -> Catalogue:
    """The features that candidates for a target have.

    Raises:
        InputError: there is no backend, or no catalogue, of the name that is said.
    """
    name = backend_named(target.backend).features
    for catalogue in catalogues():
        if catalogue.name == name:
            return catalogue
    raise InputError(f"no catalogue of features {name!r}, which {target.backend} says it has")


def detect_catalogue(columns: Iterable[str]) -> Catalogue | None:
    """The catalogue that a frame with these columns was computed with; None if with none."""
    present = set(columns)
    shares = {c.name: len(present & set(c.names)) / len(c.names) for c in catalogues()}
    best = max(catalogues(), key=lambda c: shares[c.name])
    return best if shares[best.name] else parse_generic_catalogue(present)


def extract(problem: Problem, target: Target, candidates: pd.DataFrame) -> pd.DataFrame:
    """Computes all features of all candidates.

    Args:
        problem: what the candidates are for.
        target: what they are compiled for.
        candidates: one row per candidate, one integer column per knob, and those of
            `frontrunner.search.enumeration.add_derived_columns`.

    Returns:
        A float32 frame with the names of the target's catalogue as columns, and the candidates'
        index. The columns are the same for every kind of problem; all values are finite.

    Raises:
        InputError: a derived column is missing.
    """
    catalogue = catalogue_for_target(target)
    return catalogue.compute(catalogue.view(problem, target, candidates))
