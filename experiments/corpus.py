"""Recordings as what orderings are learned from and replayed on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..features import extract
from ..search import InputError
from .recording import Recording


@dataclass(frozen=True, eq=False)
class Case:
    """One recording with the features of its candidates.

    Attributes:
        name: the file's, which no other case of a corpus has.
        problem: what was computed; the same for recordings with other elementwise work around the
            same operation, and on other devices.
        device: the chip's fingerprint.
        features: a row per candidate.
        times: in microseconds; NaN where a candidate failed.
        seconds: what taking each candidate costs a tuning run, to compile and to measure; NaN where
            that is not known.
    """

    name: str
    problem: str
    device: str
    features: pd.DataFrame
    times: NDArray[np.float64]
    seconds: NDArray[np.float64]
    recording: Recording


def read_cases(paths: Sequence[Path]) -> list[Case]:
    """Reads recordings; a folder stands for all that are in it.

    Raises:
        InputError: there is none, or one cannot be used.
    """
    raise NotImplementedError
