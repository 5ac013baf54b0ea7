"""How fast candidates are drawn and described, and how fast the command line answers.

python -m frontrunner.experiments.studies.rates [IN.mlir]
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ...features import extract
from ...search import build_spaces
from ...search.enumeration import count, sample
from ...search.reading import read_dispatch
from .command_line import run_study

REPEATS = 5


def fastest(work: Callable[[], object]) -> float:
    """Seconds of the fastest of a few repeats."""
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def main(arguments: Sequence[str]) -> None:
    path = Path(arguments[0]) if arguments else Path("examples/matmul_vit.mlir")
    dispatch = read_dispatch(path)
    problem, target = dispatch.problem, dispatch.target
    space = build_spaces(dispatch)[0]
    many = sample(space, 100_000, seed=1)
    answer = [sys.executable, "-m", "frontrunner", "--help"]
    figures = {
        "count the space": lambda: count(space),
        "draw 10,000 candidates": lambda: sample(space, 10_000, seed=0),
        "describe 100,000 candidates": lambda: extract(problem, target, many),
        "frontrunner --help": lambda: subprocess.run(answer, capture_output=True, check=True),
    }
    print(f"{path}, about {count(space).value:,} candidates")
    for name, work in figures.items():
        print(f"{name:30} {fastest(work):6.2f} s")


if __name__ == "__main__":
    run_study(main, __doc__)
