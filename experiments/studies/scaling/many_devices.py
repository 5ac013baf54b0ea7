"""Many devices on one client: who is there is Dask's own scheduler, what devices do is simulated.

    python -m frontrunner.experiments.studies.scaling.many_devices [--devices N]...
        [--candidates N] [--seconds S] [--compile-seconds S] [--host-devices N] [--processes N]

Workers are those of `frontrunner worker`, many in a process, but their hosts answer after a given
time without computing. The client is that of `frontrunner tune --cluster`, with its log. Scheduler,
hosts and client share this machine's cores, which in a real cluster they do not.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from ....benchmarks.cluster import (
    Answer,
    Cluster,
    ClusterDevices,
    ClusterRunner,
    Host,
    HostDescription,
    Offer,
    OfferedDevice,
    Work,
    work_for_clients,
)
from ....benchmarks.compiling import CompileReply, CompileRequest
from ....benchmarks.measuring import (
    Budget,
    BudgetStopping,
    MeasureRequest,
    Outcome,
    QueueOrder,
    RunProgress,
    Timing,
    executable_digest,
    search,
)
from ....models import create_ranker
from ....search.gpu import EXTRA_KNOBS
from ....search.reading import read_dispatch
from ...queue import make_queue, renderer
from ...tuning import Journal

FILE, TARGET = Path("examples/matmul_skinny.mlir"), "gfx942"
DEVICES = (10, 100, 1000)
KIND = "hip on simulated GPU"
# What candidates of the package's examples take for CPUs; those for GPUs take less.
EXECUTABLE_BYTES = 20_000
JOINED = "joined"
_COLUMNS = (
    "devices hosts connect_s describe_s start_s candidates per_s cpu_share threads mib "
    "killed_s stopped_s"
).split()


class AnsweringHost(Host):
    """Answers after a while, and computes nothing.

    Args:
        measuring, compiling: seconds that it takes.
    """

    def __init__(
        self, folder: Path, quiet: Sequence[str], *, measuring: float, compiling: float
    ) -> None:
        super().__init__(folder, quiet)
        self._seconds = {True: measuring, False: compiling}

    def do(self, work: Work) -> Answer:
        time.sleep(self._seconds[bool(work.device)])
        if isinstance(work.request, CompileRequest):
            head = repr(work.request.spec).encode()
            executable = head.ljust(EXECUTABLE_BYTES, b"\0")
            reply = CompileReply(applied=("all",), digest=executable_digest(executable))
            return Answer(reply, running=True, file=executable)
        times = (1000.0,) * 10 if isinstance(work.request, MeasureRequest) else ()
        return Answer(Timing(times), running=True)


def offer_devices(
    process: int,
    hosts: int,
    devices: int,
    scheduler: str | None,
    make_host: Callable[[Path, Sequence[str]], Host],
) -> None:
    """Works for clients as so many hosts, until it is ended.

    Args:
        devices: of each host.
        scheduler: its address; None to serve one, beside the first host.
    """

    def work(number: int, join: str | None) -> None:
        name = f"host{process}-{number}"
        offered = tuple(
            OfferedDevice(f"hip://{i}", f"{name}/hip://{i}", KIND) for i in range(devices)
        )
        serve = None if join else "127.0.0.1:0"
        work_for_clients(Offer(offered, devices), join, serve, tell, make_host)

    addresses: list[str] = []
    known = threading.Event()

    def tell(line: str) -> None:
        print(f"{line}\n", end="", flush=True)  # whole lines, whichever thread says them
        if line.startswith("serving"):
            addresses.append(line.split()[-1])
            known.set()

    threads = [threading.Thread(target=work, args=(0, scheduler))]
    threads[0].start()
    if scheduler is None:
        known.wait()
    threads += [
        threading.Thread(target=work, args=(number, scheduler or addresses[0]))
        for number in range(1, hosts)
    ]
    for thread in threads[1:]:
        thread.start()
    for thread in threads:
        thread.join()


def seconds_until_lost(cluster: Cluster, hosts: Sequence[HostDescription], prefix: str) -> float:
    """Until a client knows that the hosts of a process are gone, from now."""
    gone = [host for host in hosts if any(d.name.startswith(prefix) for d in host.devices)]
    started = time.perf_counter()
    while any(map(cluster.alive, gone)):
        time.sleep(0.05)
    return time.perf_counter() - started


def measure_client(address: str, candidates: int, processes: Sequence[int], folder: Path) -> None:
    """Prints what a client of so many devices takes; then ends processes to see when it knows.

    Args:
        processes: that hosts are in; the last is killed, and the one before it stopped.
    """
    figures: dict[str, float] = {}
    dispatch = read_dispatch(FILE, TARGET)
    ranker = create_ranker("shuffle")
    queue = make_queue(dispatch, ranker, pool=candidates, seed=0, extras=EXTRA_KNOBS)
    clock = time.perf_counter()

    def lap(name: str) -> None:
        nonlocal clock
        now = time.perf_counter()
        figures[name], clock = now - clock, now

    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(address))
        lap("connect_s")
        hosts = cluster.hosts()
        devices = ClusterDevices(cluster, dispatch.target.name, ())
        lap("describe_s")
        config = renderer(dispatch, queue)
        config(0)  # the compiler is asked once
        notify = partial(print, file=sys.stderr)
        clock = time.perf_counter()
        runner = ClusterRunner(
            devices, dispatch, config, folder / "work", folder / "logs", notify=notify
        )
        runner.start({})
        lap("start_s")
        worked, threads = time.process_time(), 0
        journal = stack.enter_context(Journal(folder / "outcomes.jsonl", len(queue), None))

        def look(outcome: Outcome, progress: RunProgress) -> None:
            nonlocal threads
            threads = max(threads, threading.active_count())

        stopping = BudgetStopping(Budget(candidates), len(queue))
        search(runner, QueueOrder(len(queue)), journal, stopping, look)
        lap("search_s")
        taken = len(journal.outcomes)
        figures |= {
            "devices": len(devices.names),
            "hosts": len(hosts),
            "candidates": taken,
            "per_s": taken / figures["search_s"],
            "cpu_share": (time.process_time() - worked) / figures["search_s"],
            "threads": threads,
            "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
        for name, how, which in (
            ("killed_s", signal.SIGKILL, -1),
            ("stopped_s", signal.SIGSTOP, -2),
        ):
            os.kill(processes[which], how)
            prefix = f"host{len(processes) + which}-"
            figures[name] = seconds_until_lost(cluster, hosts, prefix)
    print(" ".join(f"{figures[name]:10.4g}" for name in _COLUMNS), flush=True)


def measure(devices: int, given: argparse.Namespace) -> None:
    """Starts simulated hosts, and a client of theirs."""
    per_host = min(given.host_devices, max(1, devices // given.processes))
    hosts = max(1, devices // per_host // given.processes)
    me = [sys.executable, "-u", "-m", __spec__.name]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        started: list[subprocess.Popen[str]] = []
        address = None
        for number in range(given.processes):
            words = ["--offer", str(number), str(hosts), str(per_host)]
            words += ["--seconds", str(given.seconds)]
            words += ["--compile-seconds", str(given.compile_seconds)]
            words += ["--address", address] if address else []
            process = subprocess.Popen([*me, *words], stdout=subprocess.PIPE, text=True)
            stack.callback(process.wait)
            stack.callback(process.kill)
            started.append(process)
            assert process.stdout is not None
            joined = 0
            for line in process.stdout:
                if line.startswith("serving"):
                    address = line.split()[-1]
                joined += line.startswith(JOINED)
                if joined == hosts:
                    break
        assert address is not None
        words = ["--client", str(folder), *(str(process.pid) for process in started)]
        words += ["--address", address, "--candidates", str(given.candidates)]
        subprocess.run([*me, *words], check=True)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, action="append", default=[])
    parser.add_argument("--candidates", type=int, default=4000)
    parser.add_argument("--seconds", type=float, default=1.0, help="that a device measures")
    parser.add_argument("--compile-seconds", type=float, default=1.0)
    parser.add_argument("--host-devices", type=int, default=8, help="devices of a host at most")
    parser.add_argument("--processes", type=int, default=4, help="that hosts are in")
    parser.add_argument("--offer", type=int, nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--client", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--address", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.offer:
        times = {"measuring": given.seconds, "compiling": given.compile_seconds}
        process, hosts, devices = given.offer
        offer_devices(process, hosts, devices, given.address, partial(AnsweringHost, **times))
    elif given.client:
        folder, *processes = given.client
        measure_client(given.address, given.candidates, list(map(int, processes)), Path(folder))
    else:
        print(" ".join(f"{name:>10}" for name in _COLUMNS), flush=True)
        for devices in given.devices or DEVICES:
            measure(devices, given)


if __name__ == "__main__":
    main(sys.argv[1:])
