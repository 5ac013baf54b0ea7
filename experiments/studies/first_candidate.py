"""Seconds from the start of a tuning run to its first measured candidate, step by step.

    python -m frontrunner.experiments.studies.first_candidate [IN.mlir] [RUNS]

Medians of runs in processes of their own, each interrupted when it has told of its first candidate.
Imports at the start are not counted, those that come later are.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

import pandas as pd

from ...benchmarks.measuring import Budget
from ..interrupted import RunInterrupted
from ..observing import Observer
from ..tuning import TuneOptions, start_run
from .command_line import run_study

READ, ORDERED, DEFAULT, FIRST = "reading", "ordering", "the compiler's default", "first candidate"
# By what a run says first, once the step is done.
_AFTER = {"ranking candidates": READ, "trying the compiler's default": ORDERED}


class Steps(Observer):
    """Notes how long each step takes, and interrupts the run after the last."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def on_phase(self, text: str) -> None:
        if step := _AFTER.get(text):
            self._done(step)

    def on_baseline(self, us: float) -> None:
        self._done(DEFAULT)

    def on_outcome(self, kind: str, best_us: float | None) -> None:
        self._done(FIRST)
        raise KeyboardInterrupt

    def _done(self, step: str) -> None:
        now = time.perf_counter()
        self.seconds[step], self._last = now - self._last, now


def one_run(source: Path) -> dict[str, float]:
    """The seconds of each step of a run."""
    with tempfile.TemporaryDirectory() as folder:
        steps = Steps()
        options = TuneOptions(source, Path(folder, "run"), Budget(candidates=64))
        with suppress(RunInterrupted):
            start_run(options, steps, tracked=False)
        return steps.seconds


def main(arguments: Sequence[str]) -> None:
    source = Path(arguments[0]) if arguments else Path("examples/matmul_skinny.mlir")
    runs = int(arguments[1]) if len(arguments) > 1 else 5
    anew = get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=anew, max_tasks_per_child=1) as processes:
        table = pd.DataFrame(list(processes.map(one_run, [source] * runs)))
    for step in table:
        print(f"{step:24} {table[step].median():5.2f} s")
    after = table.drop(columns=READ).sum(axis=1)
    print(f"{'after reading':24} {after.median():5.2f} s ({after.min():.2f} to {after.max():.2f})")


if __name__ == "__main__":
    run_study(main, __doc__)
