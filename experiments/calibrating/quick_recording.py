"""Recordings in seconds: candidates at random and of a search, each measured once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np

from ... import __version__
from ...benchmarks.measuring import (
    SCREEN_SECONDS,
    TIMING_QUANTILE,
    Budget,
    BudgetStopping,
    MemoryLog,
    Outcome,
    RunProgress,
    search,
)
from ...benchmarks.runners import open_local_runner
from ...core import iree_versions
from ...models import AdaptiveRanker, order, resolve_ranker
from ...search import build_spaces
from ...search.reading import read_dispatch
from ..dataset import ADAPTIVE, ORIGIN, UNIFORM, Provenance, Recording, SampledFrom, timing_of
from ..observing import Observer
from ..queue import AdaptiveOrder, renderer, sample_with_features

# So few of each pipeline that the adaptive ranker orders all of them anew after each batch.
POOL = 8192
TIMING = (
    f"quantile {TIMING_QUANTILE:g} of the wall-clock times of single runs in a process that stays "
    f"up, for {SCREEN_SECONDS:g} s beside the baseline of the same device, once"
)
# Of random numbers: those of the candidates at random.
_STREAM = 2


class RandomFirst:
    """Takes candidates at random, and then those of a search, which learns from the former, too."""

    def __init__(self, chosen: Sequence[int], search: AdaptiveOrder) -> None:
        """
        Args:
            chosen: queue positions.
        """
        self.chosen = chosen
        self.search = search
        self.batch = search.batch

    def next(
        self, outcomes: Mapping[int, Outcome], count: int, in_flight: Collection[int] = ()
    ) -> list[int]:
        left = [place for place in self.chosen if place not in outcomes and place not in in_flight]
        return left[:count] or self.search.next(outcomes, count, in_flight)


def record_quickly(
    path: Path,
    devices: Sequence[str],
    target: str,
    observer: Observer,
    *,
    uniform: int,
    adaptive: int,
    jobs: int | None,
    seed: int,
) -> Recording:
    """Records so many candidates at random, and then so many of an adaptive search.

    The search begins with the order that ships.

    Raises:
        InputError: the dispatch cannot be tuned, or the device not be used.
        WorkError: a device does not answer, or the default does not run on it.
    """
    dispatch = read_dispatch(path, target)
    devices = tuple(devices) or dispatch.target.drivers[:1]
    pool, features = sample_with_features(build_spaces(dispatch), POOL, seed)
    ranker = cast(AdaptiveRanker, resolve_ranker(ADAPTIVE, seed))
    ranked = order(ranker, features)
    queue, features = (part.iloc[ranked].reset_index(drop=True) for part in (pool, features))
    rng = np.random.default_rng([seed, _STREAM])
    chosen = [int(place) for place in rng.permutation(len(queue))[:uniform]]
    taking = RandomFirst(chosen, AdaptiveOrder(ranker, features, len(queue)))
    stopping = BudgetStopping(Budget(uniform + adaptive), len(queue))
    log = MemoryLog()

    def show(outcome: Outcome, progress: RunProgress) -> None:
        observer.on_outcome(outcome.kind, None)

    observer.on_phase(f"recording {path.stem}")
    observer.on_start(uniform + adaptive, None)
    render = renderer(dispatch, queue)
    with open_local_runner(dispatch, render, devices, jobs=jobs, seed=seed) as runner:
        search(runner, taking, log, stopping, show)
        fingerprints = runner.fingerprints
    versions = iree_versions()
    origins = np.where(np.isin(queue.index, chosen), UNIFORM, ADAPTIVE)
    provenance = Provenance(
        problem=dispatch.problem,
        target=dispatch.target,
        devices=dict(zip(devices, fingerprints, strict=True)),
        compiler=versions["iree-base-compiler"],
        runtime=versions["iree-base-runtime"],
        seed=seed,
        noise_floor=None,
        created_by=f"frontrunner {__version__}",
        timing=timing_of(dispatch.repeats, TIMING),
        drawn=SampledFrom(None, {}, POOL, adaptive=adaptive),
    )
    return Recording.build(queue.assign(**{ORIGIN: origins}), log.outcomes, provenance)
