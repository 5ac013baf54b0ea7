"""Searches on recordings, where every outcome is known: without hardware, and in no time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from itertools import starmap

import numpy as np
from numpy.typing import NDArray

from ...benchmarks.measuring import Outcome
from ...benchmarks.runners import Candidate
from ...core import InputError
from ...models import TIME, AdaptiveRanker, Ranker, order
from ..dataset import Recording
from ..learning import Case

Floats = NDArray[np.float64]


class ReplayRunner:
    """A runner that answers from a recording, by the queue positions of when it was made."""

    def __init__(self, recording: Recording) -> None:
        frame = recording.frame.astype(object).where(recording.frame.notna(), None)
        outcomes = frame[[f.name for f in fields(Outcome)]].itertuples(index=False)
        self._known = dict(zip(frame["index"], starmap(Outcome, outcomes), strict=True))

    def run(
        self, batch: Sequence[Candidate], go_on: Callable[[], bool] = lambda: True
    ) -> Iterator[tuple[Candidate, Outcome]]:
        for candidate in batch:
            if candidate.index not in self._known:
                raise InputError(
                    f"the recording has no outcome of candidate {candidate.index}",
                    "replay the queue that was recorded",
                )
            if not go_on():
                return
            yield candidate, self._known[candidate.index]


def replay(
    ranker: Ranker, case: Case, enough: Callable[[Floats], bool] = lambda taken: False
) -> NDArray[np.intp]:
    """The rows of a case in the order in which a ranker takes them.

    Candidates that were killed from outside are not among them: a case has none.

    Args:
        enough: is told the times taken so far, NaN for failures, and says whether a ranker that
            looks back may stop there; the order of any other is always complete.
    """
    if not isinstance(ranker, AdaptiveRanker):
        return order(ranker, case.features)
    frame = case.knobs if ranker.reads_knobs else case.features
    left = np.arange(len(case.times))
    taken = left[:0]
    while len(left) and not enough(case.times[taken]):
        # The first time, this has the ranker forget what it saw of another case.
        ranker.observe(frame.iloc[taken].assign(**{TIME: case.times[taken]}))
        ranked = left[order(ranker, frame.iloc[left])]
        taken = np.concatenate([taken, ranked[: ranker.batch]])
        left = np.sort(ranked[ranker.batch :])
    return taken
