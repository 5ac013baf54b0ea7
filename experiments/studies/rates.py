"""How fast candidates are drawn, described and ordered, and how fast the command line answers.

    python -m frontrunner.experiments.studies.rates [IN.mlir...]

Prints milliseconds. Dispatches are read for this machine's CPU, and ordered by `cpu`.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import pandas as pd

from ...features import extract
from ...models import Ranker, create_ranker, order
from ...search import build_spaces
from ...search.enumeration import count, sample
from ...search.reading import read_dispatch
from .command_line import run_study

REPEATS = 9
ORDERED = 4000


def milliseconds(work: Callable[[], object]) -> float:
    """The median of a few repeats, after a first one that they may build on."""
    work()
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        times.append(1e3 * (time.perf_counter() - started))
    return median(times)


def of_dispatch(path: Path, ranker: Ranker) -> dict[str, float]:
    """By what is done, milliseconds."""
    dispatch = read_dispatch(path)
    problem, target = dispatch.problem, dispatch.target
    space = build_spaces(dispatch)[0]
    many = sample(space, 100_000, seed=1)
    few = many.head(ORDERED)
    described = extract(problem, target, few)
    work = {
        "count the space": lambda: count(space),
        "draw 10,000 candidates": lambda: sample(space, 10_000, seed=0),
        "describe 100,000 candidates": lambda: extract(problem, target, many),
        f"order {ORDERED:,} described ones": lambda: order(ranker, described),
        f"describe and order {ORDERED:,}": lambda: order(ranker, extract(problem, target, few)),
    }
    return {name: milliseconds(one) for name, one in work.items()}


def main(arguments: Sequence[str]) -> None:
    ranker = create_ranker("cpu")
    paths = arguments or ["examples/matmul_vit.mlir"]
    table = pd.DataFrame({Path(path).stem: of_dispatch(Path(path), ranker) for path in paths})
    print(table.round(1).to_string())
    answer = [sys.executable, "-m", "frontrunner", "--help"]
    shown = milliseconds(lambda: subprocess.run(answer, capture_output=True, check=True))
    print(f"frontrunner --help: {shown:.0f} ms")


if __name__ == "__main__":
    run_study(main, __doc__)
