"""What an adaptive order loses where many devices measure at a time, and outcomes come late.

    python -m frontrunner.experiments.studies.in_flight [FILE...] [--devices 1,4] [--pending worst]

For each recording: candidates until one is within 5 % of the best, in the order in which they are
measured, with so many devices, by the time that is imputed to candidates in flight:
nothing, or that they are as good as the best, the median or the worst so far (a constant liar).
Geometric means over recordings and seeds. Nothing is trained: the order starts from the heuristic.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...benchmarks.measuring import (
    CRASHED,
    NEAR_OPTIMAL,
    OK,
    Budget,
    BudgetStopping,
    MemoryLog,
    Outcome,
    RunProgress,
    search,
)
from ...benchmarks.runners import StreamingReplayRunner
from ...models import AdaptiveRanker, create_ranker, order
from ..learning import Case, paths_of, read_cases
from ..queue import AdaptiveOrder
from .command_line import run_study

VALUES = ("nothing", "best", "median", "worst")


class UntilNear(BudgetStopping):
    """Stops when a near-optimal candidate has been measured."""

    def __init__(self, count: int, best: float) -> None:
        super().__init__(Budget(), count)
        self._enough = best * (1 + NEAR_OPTIMAL)

    def stop_reason(self, progress: RunProgress) -> str | None:
        near = progress.best is not None and progress.best <= self._enough
        return "near-optimal" if near else super().stop_reason(progress)


def candidates(case: Case, devices: int, pending: str, seed: int) -> int:
    """How many are measured until one is near-optimal."""
    ranker = create_ranker("adaptive", prior="heuristic", seed=seed)
    assert isinstance(ranker, AdaptiveRanker)
    queue = order(ranker, case.features)
    features = case.features.iloc[queue].reset_index(drop=True)
    times = case.times[queue]
    outcomes = {
        place: Outcome(CRASHED, stage="run") if np.isnan(time) else Outcome(OK, float(time), 1.0)
        for place, time in enumerate(times)
    }
    log = MemoryLog()
    search(
        StreamingReplayRunner(outcomes, devices),
        AdaptiveOrder(ranker, features, len(times), pending),
        log,
        UntilNear(len(times), float(np.nanmin(times))),
    )
    return len(log.outcomes)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="in_flight")
    here = Path(__file__).parents[1] / "recordings" / "zen4"
    parser.add_argument("recordings", nargs="*", type=Path, default=[here])
    parser.add_argument("--devices", default="1,4,16")
    parser.add_argument("--pending", default=",".join(VALUES))
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args(arguments)
    values = given.pending.split(",")
    if not {*values} <= {*VALUES}:
        parser.error(f"--pending {given.pending}: expected some of {','.join(VALUES)}")
    cases = read_cases(paths_of(given.recordings))
    print(f"{len(cases)} recordings, {given.seeds} seeds")
    print("devices", *values, sep="\t")
    for devices in map(int, given.devices.split(",")):
        row = []
        for pending in values:
            logs = [
                math.log(candidates(case, devices, pending, seed))
                for case in cases
                for seed in range(given.seeds)
            ]
            row.append(f"{math.exp(np.mean(logs)):.1f}")
        print(devices, *row, sep="\t", flush=True)


if __name__ == "__main__":
    run_study(main, __doc__)
