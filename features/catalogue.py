"""The catalogues: every feature there is, in the order of the columns, each list under one version.

To add a feature, declare it in the module of its theme. Then raise the catalogue's version and
regenerate the golden files with `python tests/features/golden.py`: a predictor trained on other
features is refused when it is loaded, and the version is how.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..search.problem import Problem, Target
from .access import access
from .context import context, cpu_context
from .cpu_view import CpuView
from .gpu_context import gpu_context
from .gpu_memory import gpu_memory
from .gpu_parallel import gpu_parallel
from .gpu_tiles import gpu_tiles
from .gpu_view import GpuView
from .memory import memory
from .parallel import parallel
from .quantization import quantization
from .registers import registers
from .registry import Feature, collect
from .shape import shape
from .view import View


@dataclass(frozen=True)
class Catalogue:
    """The features of one kind of target.

    Attributes:
        name: of the kind of target.
        version: changes with the list of features, and with the meaning of any.
        view: how its features look at candidates.
        features: in the order of the columns.
    """

    name: str
    version: int
    view: type[View]
    features: tuple[Feature, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.features)


CPU = Catalogue(
    "cpu",
    1,
    CpuView,
    collect((shape, quantization, registers, memory, access, parallel, context, cpu_context)),
)
GPU = Catalogue(
    "gpu",
    1,
    GpuView,
    collect((gpu_tiles, gpu_parallel, gpu_memory, context, gpu_context)),
)
CATALOGUES = (CPU, GPU)


def catalogue_for(target: Target) -> Catalogue:
    """The features that candidates for a target have."""
    return GPU if target.gpu else CPU


def catalogue_of(columns: Iterable[str]) -> Catalogue | None:
    """The catalogue that a frame with these columns was computed with; None if with neither."""
    present = set(columns)
    shares = {c.name: len(present & set(c.names)) / len(c.names) for c in CATALOGUES}
    best = max(CATALOGUES, key=lambda c: shares[c.name])
    return best if shares[best.name] else None


def extract(problem: Problem, target: Target, candidates: pd.DataFrame) -> pd.DataFrame:
    """Computes all features of all candidates.

    Args:
        problem: what the candidates are for.
        target: what they are compiled for.
        candidates: one row per candidate, one integer column per knob; for GPUs, also those
            of `frontrunner.search.derive`.

    Returns:
        A float32 frame with the names of the target's catalogue as columns, and the candidates'
        index. The columns are the same for every kind of problem; all values are finite.

    Raises:
        InputError: a derived column is missing.
    """
    catalogue = catalogue_for(target)
    view = catalogue.view(problem, target, candidates)
    values = np.empty((len(catalogue.features), len(candidates)), dtype=np.float32)
    # float32 also hides that log2 differs in the last bit between machines, so that ties stay ties.
    for row, item in zip(values, catalogue.features, strict=True):
        row[:] = item.function(view)
    return pd.DataFrame(values.T, columns=pd.Index(catalogue.names), index=candidates.index)
