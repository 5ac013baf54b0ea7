"""The catalogue: every feature there is, in the order of the columns, under one version.

To add a feature, declare it in the module of its theme. Then raise `VERSION` and regenerate the
golden file with `python tests/features/golden.py`: a predictor trained on other features is refused
when it is loaded, and the version is how.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..search.problem import Problem, Target
from .access import access
from .context import context
from .memory import memory
from .parallel import parallel
from .quantization import quantization
from .registers import registers
from .registry import Feature, collect
from .shape import shape
from .view import View

VERSION = 1

_FEATURES = collect((shape, quantization, registers, memory, access, parallel, context))

NAMES: tuple[str, ...] = tuple(f.name for f in _FEATURES)


def catalogue() -> tuple[Feature, ...]:
    """All features, in the order of the columns."""
    return _FEATURES


def extract(problem: Problem, target: Target, candidates: pd.DataFrame) -> pd.DataFrame:
    """Computes all features of all candidates.

    Args:
        problem: what the candidates are for.
        target: what they are compiled for.
        candidates: one row per candidate, one integer column per knob.

    Returns:
        A float32 frame with the columns `NAMES` and the candidates' index. The columns are the
        same for every kind of problem; all values are finite.
    """
    view = View(problem, target, candidates)
    values = np.empty((len(_FEATURES), len(candidates)), dtype=np.float32)
    # float32 also hides that log2 differs in the last bit between machines, so that ties stay ties.
    for row, item in zip(values, _FEATURES, strict=True):
        row[:] = item.function(view)
    return pd.DataFrame(values.T, columns=pd.Index(NAMES), index=candidates.index)
