"""What devices of a cluster do at the same time, with simulated devices and compilers.

    python -m frontrunner.experiments.studies.scaling.devices [IN.mlir] [--candidates N]

Two tables: candidates a second of four devices of different speeds on two hosts, against one; and
which share of the time one device measures while eight dispatches are recorded, compiled by four
workers. Everything but compiling and measuring is real: processes, Dask, files, the client.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from ....benchmarks.cluster import ClusterRunner, open_devices
from ....benchmarks.measuring import Budget, BudgetStopping, MemoryLog, QueueOrder, search
from ....models import resolve_ranker
from ....search.reading import read_dispatch
from ...bundling import record_all
from ...queue import make_queue, renderer
from .simulated import TARGET, simulated_cluster

EXAMPLE = Path("examples/matmul_skinny.mlir")
KERNEL_S, COMPILE_S = 0.1, 0.05
# Of two hosts: seconds that a measurement takes on each device.
SPEEDS = (0.8, 1.0), (1.0, 1.2)


@dataclass(frozen=True)
class Tuned:
    """A run on simulated devices: the seconds that it took, and what each device measured."""

    seconds: float
    measured: Mapping[str, int]


def tuned(file: Path, hosts: Sequence[Sequence[float]], jobs: int, count: int) -> Tuned:
    """Tunes a dispatch.

    Args:
        hosts: of each host's devices, the seconds that a measurement takes.
        jobs: compile workers of each host.
        count: candidates.
    """
    dispatch = read_dispatch(file, TARGET)
    ranker = resolve_ranker("heuristic", seed=0)
    queue = make_queue(dispatch, ranker, pool=2 * count, seed=0)
    with (
        tempfile.TemporaryDirectory() as name,
        simulated_cluster(hosts, COMPILE_S, jobs, Path(name, "log")) as address,
    ):
        folder = Path(name)
        runner = ClusterRunner(
            open_devices(address, TARGET, (), print),
            dispatch,
            renderer(dispatch, queue),
            folder / "work",
            folder / "logs",
            notify=print,
        )
        with closing(runner):
            runner.start({})
            began = time.monotonic()
            stopping = BudgetStopping(Budget(count), len(queue))
            search(runner, QueueOrder(len(queue)), MemoryLog(), stopping)
            return Tuned(time.monotonic() - began, runner.measured())


def busy_share(
    file: Path, dispatches: int, candidates: int, kernel_s: float = KERNEL_S
) -> tuple[float, float]:
    """The share of the time in which the device measured while dispatches were recorded.

    Returns:
        From its first measurement to its last, and how many seconds that was.
    """
    with tempfile.TemporaryDirectory() as name:
        folder, log = Path(name), Path(name, "log")
        files = [
            Path(shutil.copy(file, folder / f"dispatch{number}.mlir"))
            for number in range(dispatches)
        ]
        with simulated_cluster([[kernel_s], []], COMPILE_S, 2, log) as address:
            given = {"target": TARGET, "devices": (), "rankers": ("heuristic",)}
            drawn = {"candidates": candidates, "top": candidates // 4, "adaptive": candidates // 2}
            for found in record_all(
                [(file, None) for file in files], folder / "out", cluster=address, **given, **drawn
            ):
                if isinstance(found, Exception):
                    raise found
        began, ended = zip(*(map(float, line.split()) for line in log.open()), strict=True)
    whole = max(ended) - min(began)
    return (sum(ended) - sum(began)) / whole, whole


def main() -> None:
    parser = argparse.ArgumentParser(prog=f"python -m {__spec__.name}")
    parser.add_argument("file", nargs="?", type=Path, default=EXAMPLE, metavar="IN.mlir")
    parser.add_argument("--candidates", type=int, default=200, metavar="N", help="[200]")
    given = parser.parse_args()
    paces = []
    for hosts in ([[KERNEL_S]], [[KERNEL_S / speed for speed in host] for host in SPEEDS]):
        found = tuned(given.file, hosts, 4, given.candidates)
        paces.append(given.candidates / found.seconds)
        each = ", ".join(f"{name} {count}" for name, count in found.measured.items())
        print(f"{len(found.measured)} devices: {paces[-1]:.1f} candidates a second ({each})")
    own = sum(map(sum, SPEEDS))
    print(f"speedup {paces[1] / paces[0]:.2f}x, of {own:.2f}x that the devices' speeds come to")
    share, seconds = busy_share(given.file, 8, given.candidates // 5)
    print(f"eight recordings: the device measures {share:.1%} of {seconds:.0f} s")


if __name__ == "__main__":
    main()
