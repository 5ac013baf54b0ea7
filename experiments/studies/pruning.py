"""Whether the constraints that prune a space cut off what would win.

    python -m frontrunner.experiments.studies.pruning [CANDIDATES] [IN.mlir ...]

Searches each dispatch twice with the adaptive ranker: among 100,000 candidates of its spaces, and
among as many of the spaces without what prunes them (only what the compiler demands is kept).
Prints the best of each search, measured again side by side, as a speedup over the compiler's
default, and which constraints the wider one's winner breaks.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from ...benchmarks.measuring import (
    BASELINE,
    OK,
    POOL_SIZE,
    Budget,
    BudgetStopping,
    FinalistResult,
    Finals,
    MemoryLog,
    Outcome,
    choose_finalists,
    search,
)
from ...benchmarks.operations import Attention, Conv, Matmul, Matvec, Types, write_operations
from ...benchmarks.runners import open_local_runner
from ...models import AdaptiveRanker, Ranker, order, resolve_ranker
from ...search import PIPELINE, Dispatch, build_spaces
from ...search.enumeration import sample, satisfies
from ...search.reading import read_dispatch
from ..queue import AdaptiveOrder, features_of, make_queue, renderer
from .command_line import run_study

CANDIDATES = 400
DISPATCHES = (
    Matmul(512, 768, 1024),
    Matmul(48, 1536, 1536),
    Matmul(127, 257, 129),
    Matmul(784, 512, 128, transposed=("rhs",), steps=("bias", "gelu")),
    Matmul(256, 512, 256, Types("i8", "i32")),
    Matmul(128, 512, 512, Types("bf16", "f32")),
    Matvec(4096, 1024),
    Matmul(1, 3072, 768),
    Matmul(128, 128, 64, batch=12),
    Conv.square(28, 128, 128, 3),
    Conv.square(28, 64, 64, 3, layout="nchw"),
    Conv.square(28, 192, 0, 3, stride=2),
    Attention(8, 64, 64, 64),
)


def unpruned_queue(dispatch: Dispatch, ranker: Ranker) -> pd.DataFrame:
    """As `make_queue` makes it, of spaces without what prunes them."""
    frames = []
    for space in build_spaces(dispatch):
        demanded = tuple(c for c in space.constraints if not c.prunes)
        drawn = sample(replace(space, constraints=demanded), POOL_SIZE, seed=0)
        frames.append(drawn.assign(**{PIPELINE: space.pipeline}))
    queue = pd.concat(frames, ignore_index=True)
    best_first = order(ranker, features_of(dispatch, queue))
    return queue.iloc[best_first].reset_index(drop=True)


def find_best(dispatch: Dispatch, queue: pd.DataFrame, candidates: int) -> pd.DataFrame:
    """The finalists of an adaptive search."""
    ranker = resolve_ranker("adaptive")
    assert isinstance(ranker, AdaptiveRanker)
    log = MemoryLog()
    with open_local_runner(dispatch, renderer(dispatch, queue)) as runner:
        search(
            runner,
            AdaptiveOrder.for_queue(queue, dispatch, ranker, seed=0),
            log,
            BudgetStopping(Budget(candidates), len(queue)),
        )
    found: pd.DataFrame = queue.iloc[choose_finalists(log.outcomes)]
    return found


def broken_constraints(dispatch: Dispatch, row: pd.Series) -> list[str]:
    (space,) = build_spaces(dispatch, row[PIPELINE])
    columns = {knob.name: np.array([int(row[knob.name])]) for knob in space.knobs}
    return [c.reason for c in space.constraints if not satisfies((c,), columns).all()]


@dataclass(frozen=True)
class Sides:
    """Which executables each of two searches found, the likeliest first.

    Attributes:
        inside: by position, which candidate's executable it has; of the pruned search's finalists.
        wide: of the other one's.
    """

    inside: Mapping[int, int]
    wide: Mapping[int, int]

    @classmethod
    def of(cls, outcomes: Mapping[int, Outcome], first_wide: int) -> Sides:
        """Of finalists that were screened side by side, the pruned search's first."""
        ran = {i: o for i, o in outcomes.items() if o.kind == OK and o.same_as != BASELINE}
        owners = {i: i if o.same_as is None else o.same_as for i, o in ran.items()}
        likeliest = sorted(owners, key=lambda i: outcomes[owners[i]].relative or math.inf)
        return cls(
            {i: owners[i] for i in likeliest if i < first_wide},
            {i: owners[i] for i in likeliest if i >= first_wide},
        )

    def contenders(self, outcomes: Mapping[int, Outcome]) -> list[int]:
        """Each executable once, the likeliest first.

        Of slow kernels fewer are measured, but the first few always: the likeliest of each side are
        among them.
        """
        leaders = [owner for side in (self.inside, self.wide) for owner in [*side.values()][:1]]
        others = {*self.inside.values(), *self.wide.values()}
        likeliest = sorted(others, key=lambda i: outcomes[i].relative or math.inf)
        return list(dict.fromkeys([*leaders, *likeliest]))

    def standing(self, finals: Finals, side: Mapping[int, int]) -> FinalistResult | str:
        """The best of a side, or why it has none: what falls behind is not measured to the end."""
        owners = [*side.values()]
        best = next((s for s in finals.standings if s.index in owners), None)
        if best is not None:
            return best
        took_part = bool(owners) and owners[0] not in dict(finals.failed)
        return "slower" if took_part else "not measured"

    def shown(self, wide: FinalistResult | str) -> int:
        """The wider search's own candidate whose constraints and knobs are told of."""
        found = (
            i for i, owner in self.wide.items()
            if isinstance(wide, FinalistResult) and owner == wide.index
        )  # fmt: skip
        return next(found, next(iter(self.wide), -1))


def check(path: Path, candidates: int) -> str:
    """A row of the table."""
    dispatch = read_dispatch(path)
    prior = resolve_ranker("cpu")
    queues = (
        make_queue(dispatch, prior, pool=POOL_SIZE, seed=0),
        unpruned_queue(dispatch, prior),
    )
    best = [find_best(dispatch, queue, candidates) for queue in queues]
    both = pd.concat(best, ignore_index=True)
    with open_local_runner(dispatch, renderer(dispatch, both)) as runner:
        outcomes = dict(runner.run(range(len(both))))
        sides = Sides.of(outcomes, len(best[0]))
        finals = runner.finals(sides.contenders(outcomes), outcomes)
    inside, wide = (sides.standing(finals, side) for side in (sides.inside, sides.wide))
    texts = [f"{s.speedup:.2f}x" if isinstance(s, FinalistResult) else s for s in (inside, wide)]
    row = both.iloc[sides.shown(wide)]
    knobs = {name: int(value) for name, value in row.drop(PIPELINE).dropna().items()}
    broken = ", ".join(broken_constraints(dispatch, row)) or "none"
    return f"{path.stem:44} {texts[0]:>12} {texts[1]:>12}  {broken}; {knobs}"


def main(arguments: Sequence[str]) -> None:
    candidates = int(arguments[0]) if arguments else CANDIDATES
    print(f"best of {candidates}: dispatch, pruned, unpruned; broken constraints and knobs of it")
    with tempfile.TemporaryDirectory() as folder:
        given = [Path(a) for a in arguments[1:]]
        for path in given or write_operations(Path(folder), DISPATCHES):
            print(check(path, candidates), flush=True)


if __name__ == "__main__":
    run_study(main, __doc__)
