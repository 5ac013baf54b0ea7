"""How much is left to find after 64 tries: against a search of 400, on dispatches of its own.

    python -m frontrunner.experiments.studies.tries [CANDIDATES] [IN.mlir ...]

For each dispatch: the best of the first 64 of the `cpu` order and of the adaptive search's, and the
best of that search's CANDIDATES (400), as speedups over the compiler's default. Each is chosen in
finals of its own, and measured in rounds of its own. Nothing was learned from the usual dispatches.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

from ...benchmarks.measuring import (
    POOL_SIZE,
    Budget,
    BudgetStopping,
    CandidateOrder,
    MemoryLog,
    QueueOrder,
    choose_finalists,
    search,
)
from ...benchmarks.operations import Attention, Conv, Matmul, Matvec, write_operations
from ...benchmarks.runners import LocalRunner, open_local_runner
from ...models import AdaptiveRanker, resolve_ranker
from ...search import Dispatch
from ...search.reading import read_dispatch
from ..queue import AdaptiveOrder, make_queue, renderer
from .command_line import run_study

FEW, CANDIDATES = 64, 400
DISPATCHES = (
    Matmul(384, 1024, 512),
    Matmul(24, 4096, 512),
    Matmul(320, 512, 512, transposed=("rhs",), steps=("bias", "gelu")),
    Matvec(3072, 1024),
    Conv.square(28, 96, 96, 3),
    Conv.square(14, 96, 96, 3, layout="nchw"),
    Conv.square(14, 384, 0, 3),
    Attention(6, 128, 128, 48),
)


def best_of(runner: LocalRunner, log: MemoryLog) -> float:
    """The speedup of the best candidate."""
    finals = runner.finals(choose_finalists(log.outcomes), log.outcomes)
    if not finals.standings:
        return float("nan")
    confirmed = runner.confirm(finals.standings[0].index)
    return confirmed.standings[0].speedup


def first_of(log: MemoryLog, count: int) -> MemoryLog:
    """What was measured first."""
    first = MemoryLog()
    first.outcomes = dict(islice(log.outcomes.items(), count))
    return first


def searched(
    dispatch: Dispatch, queue: pd.DataFrame, taking: CandidateOrder, counts: Sequence[int]
) -> list[float]:
    """The speedups of the best after so many candidates each."""
    log = MemoryLog()
    with open_local_runner(dispatch, renderer(dispatch, queue)) as runner:
        search(runner, taking, log, BudgetStopping(Budget(max(counts)), len(queue)))
        return [best_of(runner, first_of(log, count)) for count in counts]


def speedups(path: Path, candidates: int) -> list[float]:
    """Of the best of `cpu`'s first 64, of the search's first 64, and of all that it took."""
    dispatch = read_dispatch(path)
    # The adaptive ranker starts from this order.
    queue = make_queue(dispatch, resolve_ranker("cpu"), pool=POOL_SIZE, seed=0)
    ranker = resolve_ranker("adaptive")
    assert isinstance(ranker, AdaptiveRanker)
    adaptive = AdaptiveOrder.for_queue(queue, dispatch, ranker, seed=0)
    return [
        *searched(dispatch, queue, QueueOrder(len(queue)), [FEW]),
        *searched(dispatch, queue, adaptive, [FEW, candidates]),
    ]


def main(arguments: Sequence[str]) -> None:
    candidates = int(arguments[0]) if arguments else CANDIDATES
    names = (f"cpu, {FEW}", f"adaptive, {FEW}", f"adaptive, {candidates}")
    print(f"{'dispatch':44}" + "".join(f"{name:>15}" for name in names))
    shares = []
    with tempfile.TemporaryDirectory() as folder:
        given = [Path(a) for a in arguments[1:]]
        for path in given or write_operations(Path(folder), DISPATCHES):
            found = speedups(path, candidates)
            print(f"{path.stem:44}" + "".join(f"{x:>14.2f}x" for x in found), flush=True)
            shares.append([x / found[2] for x in found])
    means = np.exp(np.nanmean(np.log(shares), axis=0))
    print(f"{'of the last, geometric mean':44}" + "".join(f"{x:>15.3f}" for x in means))


if __name__ == "__main__":
    run_study(main, __doc__)
