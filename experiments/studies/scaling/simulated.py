"""Workers whose devices and compilers are simulated: all else of a cluster is real.

A simulated compiler answers after a while with bytes that stand for an executable, a simulated
device after a while with times that depend on these bytes alone.
"""

from __future__ import annotations

import hashlib
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from ....benchmarks.cluster import Answer, Host, Offer, OfferedDevice, Work, work_for_clients
from ....benchmarks.compiling import CompileReply, CompileRequest
from ....benchmarks.measuring import SetupRequest, Timing, executable_digest
from ....core import Child

TARGET = "sm_80"
KIND = "cuda on a simulated GPU"
START_SECONDS = 60.0
# What simulated kernels take, by their bytes: a factor up to this.
SLOWEST = 3.0


class SimulatedHost(Host):
    """A host that waits in place of compiling and measuring.

    Args:
        seconds: what measuring takes, by the device's URI.
        compile_s: what compiling takes.
        log: a line for each measurement goes here: when it began and ended.
    """

    def __init__(
        self,
        folder: Path,
        quiet: Sequence[str],
        seconds: dict[str, float],
        compile_s: float,
        log: Path,
    ) -> None:
        super().__init__(folder, quiet)
        self._seconds, self._compile_s = seconds, compile_s
        self._log = log

    def _call(self, child: Child, request: Any, work: Work) -> Answer:
        if isinstance(request, CompileRequest):
            time.sleep(self._compile_s)
            made = hashlib.sha256(repr(request.spec).encode()).digest()
            request.executable.write_bytes(made)
            applied = ("simulated",) if request.spec is not None else ()
            return Answer(CompileReply(applied=applied, digest=executable_digest(made)))
        if isinstance(request, SetupRequest):
            return Answer(running=True)
        began = time.monotonic()
        time.sleep(self._seconds[work.device])
        with self._log.open("a") as log:
            log.write(f"{began} {time.monotonic()}\n")
        share = int.from_bytes(request.executable.read_bytes()[:2], "big") / 2**16
        return Answer(Timing((1e3 * (1 + share * (SLOWEST - 1)),) * 5), running=True)


@contextmanager
def simulated_cluster(
    hosts: Sequence[Sequence[float]], compile_s: float, jobs: int, log: Path
) -> Iterator[str]:
    """The address of a scheduler with workers in processes of their own.

    Args:
        hosts: of each host's devices, the seconds that a measurement takes.
        jobs: compile workers of each host.
        log: as of `SimulatedHost`.
    """
    with ExitStack() as stack:
        address = "127.0.0.1:0"
        for number, devices in enumerate(hosts):
            words = [address, f"host{number}", str(compile_s), str(jobs), str(log)]
            process = subprocess.Popen(
                [sys.executable, "-u", "-m", __spec__.name, *words, *map(str, devices)],
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.callback(_end, process)
            said = _wait_for(process, "joined")
            if found := re.search(r"serving at (\S+)", said):
                address = found[1]
        yield address


def _wait_for(process: subprocess.Popen[str], text: str) -> str:
    assert process.stdout is not None
    said, until = "", time.monotonic() + START_SECONDS
    while text not in said and time.monotonic() < until and process.poll() is None:
        if select.select([process.stdout], [], [], 1.0)[0]:
            said += process.stdout.readline()
    if text not in said:
        raise RuntimeError(f"a simulated worker does not start: {said}")
    return said


def _end(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    if process.stdout:
        process.stdout.close()


def main(arguments: Sequence[str]) -> None:
    """A worker; the first one serves the scheduler, too."""
    address, name, compile_s, jobs, log, *seconds = arguments
    uris = [f"cuda://{number}" for number in range(len(seconds))]
    devices = tuple(OfferedDevice(uri, f"{name}/{uri}", KIND) for uri in uris)
    make_host = partial(
        SimulatedHost,
        seconds=dict(zip(uris, map(float, seconds), strict=True)),
        compile_s=float(compile_s),
        log=Path(log),
    )
    join, serve = (None, address) if address.endswith(":0") else (address, None)
    say = partial(print, flush=True)
    work_for_clients(Offer(devices, int(jobs)), join, serve, say, make_host)


if __name__ == "__main__":
    main(sys.argv[1:])
