"""What a recording says, in the words of a run."""

from __future__ import annotations

from dataclasses import fields
from itertools import starmap

from frontrunner.benchmarks.measuring import Outcome
from frontrunner.experiments.dataset import Recording


def recorded_outcomes(recording: Recording) -> dict[int, Outcome]:
    """By the queue positions of when it was made."""
    frame = recording.frame.astype(object).where(recording.frame.notna(), None)
    outcomes = frame[[f.name for f in fields(Outcome)]].itertuples(index=False)
    return dict(zip(frame["index"], starmap(Outcome, outcomes), strict=True))
