"""What a cluster costs a candidate beside this machine alone, with the real compiler and kernels.

    python -m frontrunner.experiments.studies.scaling.overhead [IN.mlir] [--candidates N]

The same queue is taken by a runner of this machine and by one of `local:1`, in turns of 50
candidates, which of them first changes: seconds a candidate of each, the median over the turns, and
of their difference within a turn. Both compile on all cores and measure on `local-task`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from ....benchmarks.cluster import ClusterRunner, open_devices
from ....benchmarks.measuring import Runner, StreamingRunner
from ....benchmarks.runners import open_local_runner
from ....core import usable_cores
from ....models import resolve_ranker
from ....search.reading import read_dispatch
from ...queue import make_queue, renderer

EXAMPLE = Path("examples/matmul_skinny.mlir")
TURN = 50


def take(runner: Runner, batch: Sequence[int]) -> float:
    """Seconds a candidate that a runner takes for some."""
    began, left = time.monotonic(), [*batch]
    while left:
        # What streams is given all: it takes as many as it has room for.
        count = len(left) if isinstance(runner, StreamingRunner) else runner.batch
        for _ in runner.run(left[:count], lambda: True):
            pass
        del left[:count]
    return (time.monotonic() - began) / len(batch)


def main() -> None:
    parser = argparse.ArgumentParser(prog=f"python -m {__spec__.name}")
    parser.add_argument("file", nargs="?", type=Path, default=EXAMPLE, metavar="IN.mlir")
    parser.add_argument("--candidates", type=int, default=1000, metavar="N", help="[1000]")
    given = parser.parse_args()
    dispatch = read_dispatch(given.file)
    queue = make_queue(dispatch, resolve_ranker("shuffle", seed=0), pool=given.candidates, seed=0)
    render = renderer(dispatch, queue)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        here = stack.enter_context(open_local_runner(dispatch, render, jobs=usable_cores()))
        devices = open_devices("local:1", dispatch.target.name, (), print)
        there = ClusterRunner(devices, dispatch, render, folder / "a", folder / "b", notify=print)
        stack.callback(there.close)
        there.start({})
        found = []
        for number, first in enumerate(range(0, len(queue), TURN)):
            batch = range(first, min(first + TURN, len(queue)))
            runners: list[Runner] = [here, there]
            turn = {runner: take(runner, batch) for runner in runners[:: 1 if number % 2 else -1]}
            found.append([turn[here], turn[there]])
            print(
                f"[{batch[-1] + 1}] {1e3 * turn[here]:.0f} and {1e3 * turn[there]:.0f} ms",
                flush=True,
            )
    times = 1e3 * np.array(found)
    low, middle, high = np.quantile(times[:, 1] - times[:, 0], (0.25, 0.5, 0.75))
    print(
        f"here {np.median(times[:, 0]):.0f} ms a candidate, local:1 {np.median(times[:, 1]):.0f} ms"
    )
    print(f"difference {middle:+.1f} ms (half of the turns: {low:+.1f} to {high:+.1f})")


if __name__ == "__main__":
    main()
