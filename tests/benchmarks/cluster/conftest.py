"""Workers in processes of their own, as on other hosts, on ports of loopback."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import pytest

pytest.importorskip("distributed")

PATIENCE = 300.0
StartWorker = Callable[..., "WorkerProcess"]


class WorkerProcess:
    """A `frontrunner worker`."""

    def __init__(self, words: list[str], program: Sequence[str]) -> None:
        self.words = words
        self.process = subprocess.Popen(
            [sys.executable, "-u", *program, "worker", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def wait_for(self, text: str) -> str:
        """The line that has a text; what the worker says before is passed over."""
        assert self.process.stdout is not None
        said, until = "", time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if select.select([self.process.stdout], [], [], 1.0)[0]:
                line = self.process.stdout.readline()
                said += line
                if text in line:
                    return line
                if not line:
                    break
        raise AssertionError(f"no {text!r} in {said!r}")

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()


@pytest.fixture(scope="module")
def start_worker() -> Iterator[StartWorker]:
    """Starts workers, waits until they have joined, and ends them after the tests of a file."""
    started: list[WorkerProcess] = []

    def start(*words: str, program: Sequence[str] = ("-m", "frontrunner")) -> WorkerProcess:
        worker = WorkerProcess(list(words), program)
        started.append(worker)
        if "--serve" in words:
            worker.address = worker.wait_for("serving at").split()[-1]  # type: ignore[attr-defined]
        worker.wait_for("joined")
        return worker

    yield start
    for worker in started:
        worker.kill()


@pytest.fixture(scope="module")
def address(start_worker: StartWorker) -> str:
    """The scheduler of a cluster with a device, and a host that compiles."""
    served = start_worker("--serve", "127.0.0.1:0", "--compile", "2", "--name", "compiling")
    found: str = served.address  # type: ignore[attr-defined]
    start_worker("--join", found, "--device", "local-task", "--name", "measuring")
    return found
