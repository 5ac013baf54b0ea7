"""The best candidate of a recording beside the compiler's default, in quantities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...benchmarks.measuring import OK
from ...search import PIPELINE, Problem
from ..dataset import DEFAULT, ORIGIN, rows_with
from ..learning import Case
from .quantities import values

# What is called another value: the winner's is so many times the default's, or the other way round.
OTHER = 2.0


@dataclass(frozen=True)
class Comparison:
    """A recording's winner and the default.

    Attributes:
        gain: times as fast as the default.
        ratios: by quantity, the winner's value over the default's.
        losses: by quantity, how many times the winner's time the best candidate takes whose value
            is within a factor of `OTHER` of the default's; NaN where none was measured.
        pipelines: the default's and the winner's.
    """

    name: str
    device: str
    gain: float
    ratios: Mapping[str, float]
    losses: Mapping[str, float]
    pipelines: tuple[str, str]


def compare(case: Case) -> Comparison | None:
    """A recording's comparison; None if it does not hold the default, or nothing ran."""
    recording, problem = case.recording, case.recording.provenance.problem
    target = recording.provenance.target
    frame = recording.frame.reset_index(drop=True)
    ran = frame["kind"] == OK
    default = ran & frame.index.isin(rows_with(DEFAULT, frame[ORIGIN]))
    if target is None or not isinstance(problem, Problem) or not default.any():
        return None
    rows = recording.candidates.reset_index(drop=True)
    times = frame["relative"].where(ran).to_numpy(np.float64)
    best, start = int(np.nanargmin(times)), int(np.flatnonzero(default)[0])
    ratios, losses = {}, {}
    # One pipeline at a time: it is seen from the columns which knobs a space has.
    columns: dict[str, NDArray[np.float64]] = {}
    for _, part in rows.groupby(frame[PIPELINE]):
        for name, found in values(problem, target, part.dropna(axis="columns")).items():
            columns.setdefault(name, np.full(len(rows), np.nan))[part.index] = found
    for name, column in columns.items():
        # Of a quantity that may be 0, such as bytes of shared memory, 0 is like 0 alone.
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(column == column[start], 1.0, column / column[start])
            alike = np.abs(np.log(shares)) < np.log(OTHER)
        ratios[name] = float(shares[best])
        kept = times[alike & ~np.isnan(times)]
        losses[name] = float(kept.min() / times[best]) if len(kept) else float("nan")
    pipelines = (str(frame[PIPELINE][start]), str(frame[PIPELINE][best]))
    return Comparison(
        case.name, case.device, float(times[start] / times[best]), ratios, losses, pipelines
    )
