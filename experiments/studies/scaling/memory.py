"""What a long queue takes: peak memory and seconds of each stage, by ranker and length.

    python -m frontrunner.experiments.studies.scaling.memory [FILE] [--target NAME] [--pool N]...
        [--ranker NAME|FILE]... [--pipeline NAME] [--extras]

Each queue is made by a process of its own, which goes through what the client of `tune` does with
it: imports, reading the dispatch, the queue, its file, and reading the file again.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

FILE = Path("examples/matmul_skinny.mlir")
POOLS = (100_000, 1_000_000)
RANKERS = ("shuffle", "heuristic", "adaptive")
_LINE = "{:18} {:>11} {:10} {:>8} {:>6} {:>6}"


def peak_mib() -> int:
    """The most memory that this process has taken, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


class Stages:
    """Prints what stages of one queue take."""

    def __init__(self, ranker: str, pool: int) -> None:
        self._queue = (Path(ranker).name, f"{pool:,}")

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        started, worked = time.perf_counter(), time.process_time()
        yield
        took = (time.perf_counter() - started, time.process_time() - worked)
        told = (f"{seconds:.1f}" for seconds in took)
        print(_LINE.format(*self._queue, name, peak_mib(), *told), flush=True)


def make_one(given: argparse.Namespace) -> None:
    """Makes the queue of the first pool by the first ranker, and prints what its stages take."""
    (pool, *_), (ranker, *_) = given.pool, given.ranker
    stages = Stages(ranker, pool)
    with stages.stage("imports"):
        from ....models import resolve_ranker
        from ....search import known_extras
        from ....search.reading import read_dispatch
        from ...parquet import COLUMNAR_BYTES, read_table, to_frame
        from ...queue import check_queue, make_queue
        from ...tuning import start_run  # noqa: F401  what a client has loaded
    with stages.stage("dispatch"):
        dispatch = read_dispatch(given.file, given.target)
        orders = resolve_ranker(ranker, seed=0)
    extras = known_extras() if given.extras else None
    with stages.stage("queue"):
        queue = make_queue(
            dispatch, orders, pool=pool, seed=0, pipeline=given.pipeline, extras=extras
        )
    with stages.stage("written"):
        data = queue.to_parquet(index=False)
    del queue
    with stages.stage("read"):
        queue = to_frame(read_table(data, "the queue", "", COLUMNAR_BYTES))
        check_queue(queue, dispatch)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=FILE)
    parser.add_argument("--target", default="host")
    parser.add_argument("--pool", type=int, action="append", default=[])
    parser.add_argument("--ranker", action="append", default=[])
    parser.add_argument("--pipeline", help="the only one to take candidates of")
    parser.add_argument("--extras", action="store_true", help="set all extra knobs of GPUs free")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    rankers = given.ranker or [*RANKERS, *(["cpu"] if given.target == "host" else [])]
    if given.one:
        make_one(given)
        return
    print(_LINE.format("ranker", "pool", "stage", "peak MiB", "s", "CPU s"), flush=True)
    for pool in given.pool or POOLS:
        for ranker in rankers:
            alone = [sys.executable, "-m", __spec__.name, str(given.file), "--one"]
            alone += ["--target", given.target, "--pool", str(pool), "--ranker", ranker]
            alone += ["--extras"] if given.extras else []
            alone += ["--pipeline", given.pipeline] if given.pipeline else []
            subprocess.run(alone, check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
