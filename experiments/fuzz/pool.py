"""Workers: processes that run cases, and threads here that wait for them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from threading import Lock
from typing import Any, Self

from .case import GOOD, FuzzCase
from .places import Places
from .sandbox import SECONDS, CaseOutcome, remove
from .stock import make_stock
from .worker import BROKEN, CASE, SEEN

_STUB = "raise ImportError('left out: it takes 5 s of each case')\n"


class Worker:
    """A process that runs one case after the other."""

    def __init__(self, root: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.worker"],
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, request: dict[str, Any]) -> CaseOutcome:
        """Has a request done.

        Raises:
            RuntimeError: the fuzzer itself failed.
        """
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answered = self._process.stdout.readline()
        places = Places(Path(request["folder"]))
        broken = places.path / BROKEN
        if broken.exists() or not answered:
            why = broken.read_text() if broken.exists() else "the worker ended"
            raise RuntimeError(f"the fuzzer failed on {request}:\n{why}")
        return CaseOutcome.load(places.log / SEEN)

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@dataclass(frozen=True)
class FinishedCase:
    """A case that was run."""

    case: FuzzCase
    seen: CaseOutcome
    places: Places


class Fuzzing:
    """Runs cases side by side.

    Args:
        root: where their folders are made.
        jobs: how many at a time.
        seconds: that each may take.
    """

    def __init__(self, root: Path, jobs: int, seconds: float = SECONDS) -> None:
        self.root, self._jobs, self._seconds = root, jobs, seconds
        self._stub = root / "stub"
        (self._stub / "mlflow").mkdir(parents=True, exist_ok=True)
        (self._stub / "mlflow" / "__init__.py").write_text(_STUB)
        self._stack = ExitStack()
        self._workers: Queue[Worker] = Queue()
        self._counting, self._made = Lock(), 0

    def __enter__(self) -> Self:
        for _ in range(self._jobs):
            worker = Worker(self.root)
            self._stack.callback(worker.close)
            self._workers.put(worker)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def stock(self) -> Path:
        return self.root / "stock"

    def make_stock(self) -> None:
        """Makes the good files.

        Raises:
            RuntimeError: a command failed on what is good.
        """
        make_stock(self.stock, self._run_for_stock)

    def run(self, seed: str, numbers: Iterable[int]) -> Iterator[FinishedCase]:
        """Runs cases, and yields them in their order."""
        with ThreadPoolExecutor(self._jobs) as threads:
            yield from threads.map(lambda number: self._run_case(number, seed), numbers)

    def run_good(self) -> Iterator[FinishedCase]:
        """Opens each file of the stock as it is, by each of its commands."""
        with ThreadPoolExecutor(self._jobs) as threads:
            yield from threads.map(self._run_case, range(len(GOOD)))

    def _run_case(self, number: int, seed: str | None = None) -> FinishedCase:
        """Runs a case; without a seed, one in which nothing is changed."""
        places = Places(self.root / f"case-{number:06}")
        request = {"seed": seed, "number": number, "stock": str(self.stock)}
        seen = self._ask(places, request)
        return FinishedCase(FuzzCase.load(places.log / CASE), seen, places)

    def _run_for_stock(self, line: str) -> None:
        with self._counting:
            self._made += 1
            places = Places(self.root / f"making-{self._made}")
        seen = self._ask(places, {"line": line, "work": str(self.stock)})
        remove(places.path)
        if seen.code:
            raise RuntimeError(f"`frontrunner {line}` ended with {seen.code}:\n{seen.err}")

    def _ask(self, places: Places, request: dict[str, Any]) -> CaseOutcome:
        usual = {"folder": str(places.path), "work": None, "stub": str(self._stub),
                 "seconds": self._seconds}  # fmt: skip
        worker = self._workers.get()
        try:
            return worker.run({**usual, **request})
        finally:
            self._workers.put(worker)
