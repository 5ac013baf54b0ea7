"""Which candidates a recording takes, and how each of them came in."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd

from ...benchmarks.measuring import (
    Budget,
    BudgetStopping,
    MemoryLog,
    Outcome,
    RunProgress,
    search,
)
from ...core import InputError
from ...models import (
    AdaptiveRanker,
    Ranker,
    names_a_file,
    order,
    ready_rankers,
    resolve_ranker,
)
from ...search import PIPELINE, Dispatch, Target, build_spaces
from ..dataset import ADAPTIVE, DEFAULT, ORIGIN, UNIFORM, SampledFrom, join_origins, top_of
from ..observing import Observer
from ..queue import AdaptiveOrder, check_not_empty, renderer, sample_with_features
from ..tuning import RunFolder, TuneOptions, digest_of_file, make_usual_runner

# It knows nothing: what it puts first is a uniform sample over all pipelines.
SHUFFLE = "shuffle"
# Of random numbers: those of the order in which candidates are measured.
_STREAM = 1


@dataclass(frozen=True)
class Selection:
    """What a recording takes beside a uniform sample and the compiler's default.

    Attributes:
        top: how many candidates of each ranker's order.
        adaptive: how many candidates an adaptive search takes.
        rankers: names, or files of trained ones; those that are ready for the target if empty.
    """

    top: int = 64
    adaptive: int = 200
    rankers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("top", "adaptive"):
            if (value := getattr(self, name)) < 0:
                raise InputError(f"{name} must be 0 or more, got {value:,}", "0 takes none")
        if self.rankers and not self.top:
            raise InputError(
                f"of {', '.join(self.rankers)}, the first 0 candidates were asked for",
                "leave the rankers out, or give a top of 1 or more",
            )

    def resolve(self, target: Target, seed: int) -> dict[str, Ranker]:
        """The rankers whose orders are taken, by the names that origins have.

        Raises:
            InputError: one cannot order candidates beforehand, or two have one name.
        """
        found: dict[str, Ranker] = {}
        for text in self._names(target):
            ranker, label = resolve_ranker(text, seed), ranker_label(text)
            if isinstance(ranker, AdaptiveRanker):
                raise InputError(
                    f"ranker {text!r} has no order before anything is measured",
                    "name another, or take more of the adaptive search",
                )
            if label in found:
                raise InputError(f"two rankers are called {label}", "rename one, or leave it out")
            found[label] = ranker
        return found

    def describe(self, options: TuneOptions, target: Target) -> SampledFrom:
        """What the recording says of it."""
        digests = {
            ranker_label(text): digest_of_file(Path(text)) if names_a_file(text) else ""
            for text in self._names(target)
        }
        extras = dict(options.extras)
        return SampledFrom(options.pipeline, extras, options.pool, self.top, self.adaptive, digests)

    def _names(self, target: Target) -> tuple[str, ...]:
        return (self.rankers or ready_rankers(target)) if self.top else ()


def ranker_label(name_or_path: str) -> str:
    """What a ranker is called in an origin: the name, or that of the file."""
    label = Path(name_or_path).name if names_a_file(name_or_path) else name_or_path
    return label.replace(",", "_")


def choose(
    options: TuneOptions,
    selection: Selection,
    dispatch: Dispatch,
    devices: tuple[str, ...],
    observer: Observer,
) -> pd.DataFrame:
    """The candidates of a recording, in the random order in which they are measured.

    Args:
        devices: that the adaptive search measures on.

    Returns:
        A column per knob, `pipeline`, and `origin`.

    Raises:
        InputError: there is no candidate, or a ranker cannot order them.
        WorkError: a device does not answer, or the default does not run on it.
    """
    seed = options.seed
    rankers = selection.resolve(dispatch.target, seed)
    observer.on_phase("ranking candidates")
    spaces = build_spaces(dispatch, options.pipeline, options.extras)
    pool, features = sample_with_features(spaces, options.pool, seed)
    check_not_empty(pool, dispatch)

    def ordered(ranker: Ranker) -> pd.DataFrame:
        return pool.iloc[order(ranker, features)]

    uniform = ordered(resolve_ranker(SHUFFLE, seed))
    parts = {UNIFORM: uniform[: options.budget.candidates]}
    defaults = [{**s.default, PIPELINE: s.pipeline} for s in spaces if s.default is not None]
    if defaults:
        parts[DEFAULT] = pd.DataFrame(defaults)
    for label, ranker in rankers.items():
        parts[top_of(label)] = ordered(ranker)[: selection.top]
    if selection.adaptive:
        searcher = cast(AdaptiveRanker, resolve_ranker(ADAPTIVE, seed))
        queue = ordered(searcher).reset_index(drop=True)
        taken = _search(queue, searcher, selection.adaptive, options, dispatch, devices, observer)
        parts[ADAPTIVE] = queue.iloc[taken]
    rng = np.random.default_rng([seed, _STREAM])
    return _merged(parts).sample(frac=1, random_state=rng, ignore_index=True)


def _merged(parts: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Each candidate once, with all its origins."""
    every = pd.concat([part.assign(**{ORIGIN: origin}) for origin, part in parts.items()])
    candidate = list(every.columns.drop(ORIGIN))
    return every.groupby(candidate, dropna=False)[ORIGIN].agg(join_origins).reset_index()


def _search(
    queue: pd.DataFrame,
    ranker: AdaptiveRanker,
    count: int,
    options: TuneOptions,
    dispatch: Dispatch,
    devices: tuple[str, ...],
    observer: Observer,
) -> list[int]:
    """The places in the queue that a tuning run of so many candidates would take.

    Its times only choose: they are not what is recorded.
    """
    observer.on_phase(f"searching for {count} candidates")
    observer.on_start(count, None)

    def show(outcome: Outcome, course: RunProgress) -> None:
        observer.on_outcome(outcome.kind, None)

    log, seed = MemoryLog(), options.seed
    searching = replace(options, devices=devices)
    with tempfile.TemporaryDirectory() as name:
        runner = make_usual_runner(
            RunFolder(Path(name)), searching, dispatch, renderer(dispatch, queue), observer
        )
        with closing(runner):
            runner.start({})
            taking = AdaptiveOrder.for_queue(queue, dispatch, ranker, seed)
            search(runner, taking, log, BudgetStopping(Budget(count), len(queue)), show)
    return list(log.outcomes)
