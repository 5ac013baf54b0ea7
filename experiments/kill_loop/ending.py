"""Starts commands, ends them, and finds what is left of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Self

MARK = "FRONTRUNNER_KILL_LOOP"
PACKAGE = __name__.partition(".")[0]
# How long a command that was asked to end may take to save, and its processes to notice its death.
# What logs to MLflow when it is interrupted leaves that to a process of its own, which takes some
# 5 s of a core.
SAVING = 60.0
GRACE = 60.0
# Names of ends, and how often they come.
KILL, TERM, INT, CHILD = "kill -9", "SIGTERM", "Ctrl-C", "kill -9 of a child"
HOW = (KILL, KILL, KILL, KILL, KILL, TERM, INT, CHILD)


@dataclass(frozen=True)
class ExitResult:
    """How a session of a command ended.

    Attributes:
        code: its exit code; negative for a signal.
        err: what it said on stderr.
    """

    code: int
    err: str
    seconds: float


class CommandProcess:
    """A command that works, with a mark on all of its processes.

    None of them outlives the `with` block that it is used in.

    Args:
        line: what follows the program's name.
        folder: with a folder `work`, where it works; temporary files go into `tmp`.
        module: the program, as `python -m` knows it.
        env: environment variables to add.
    """

    def __init__(
        self,
        line: str,
        folder: Path,
        mark: str,
        module: str = PACKAGE,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.mark = mark
        self._out, self._err = folder / "out", folder / "err"
        self._started = time.monotonic()
        temporary = folder / "tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        work = folder / "work"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", module, *line.split()],
                cwd=work,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                env={
                    **os.environ,
                    MARK: mark,
                    "TMPDIR": str(temporary),
                    "MLFLOW_TRACKING_URI": f"sqlite:///{work / 'mlflow.db'}",
                    **(env or {}),
                },
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def said(self) -> str:
        """What it has printed."""
        return self._out.read_text(errors="replace")

    def complaints(self) -> str:
        """What it has said on stderr."""
        return self._err.read_text(errors="replace")

    def wait(self, seconds: float) -> ExitResult | None:
        """How it ended; None if it has not."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        took = time.monotonic() - self._started
        return ExitResult(code, self.complaints(), took)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        left_over(self.mark, grace=0.0)

    def end(self, how: str, rng: Random) -> bool:
        """Ends it, or a child of it; tells whether there was one to end."""
        pid = self._process.pid
        if how == CHILD:
            below = [one for one in marked(self.mark) if one != pid]
            return bool(below) and _kill(below[int(rng.random() * len(below))])
        if how == INT:
            os.killpg(pid, signal.SIGINT)  # as a terminal does
        else:
            self._process.send_signal(signal.SIGTERM if how == TERM else signal.SIGKILL)
        return True


def marked(mark: str) -> list[int]:
    """The processes that have a mark."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for name in os.listdir("/proc"):
        try:
            said = Path("/proc", name, "environ").read_bytes() if name.isdigit() else b""
        except OSError:
            continue
        if wanted in said.split(b"\0"):
            found.append(int(name))
    return sorted(found)


def left_over(mark: str, grace: float = GRACE) -> list[str]:
    """Processes that stay although their parent is gone, in words; they are ended."""
    if wait_for(lambda: not marked(mark), grace):
        return []
    found = []
    for pid in marked(mark):
        try:
            line = Path("/proc", str(pid), "cmdline").read_bytes().replace(b"\0", b" ")
        except OSError:
            continue
        found.append(line.decode(errors="replace")[:160])
        _kill(pid)
    return found


def wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether it came true in time."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True
