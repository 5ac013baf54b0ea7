"""How child processes are ended, and how they ended."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import time
from typing import IO

from .errors import WorkError

# A crashed compiler says what was wrong first, and then some 10 kB of stack.
STDERR_TAIL_BYTES = 32_000
# Signals that others send; faults have their own.
FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# Between two looks at whether a process has ended.
LONGEST_PAUSE = 0.05


def reap(process: subprocess.Popen[bytes], seconds: float = math.inf) -> tuple[int, int]:
    """How a process ended, as `Popen.returncode`, and the most memory that it took, in bytes.

    The memory is 0 where another thread asked first.

    Args:
        seconds: how long to wait for its end.

    Raises:
        WorkError: it has not ended by then.
    """
    if process.returncode is None:
        with contextlib.suppress(ChildProcessError):
            # What it started is ended while its number is still its own.
            _await_end(process.pid, seconds)
            kill_all(process)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_maxrss * 1024
    return process.wait(), 0


def _await_end(pid: int, seconds: float) -> None:
    give_up, pause = time.monotonic() + seconds, 0.001
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        if time.monotonic() > give_up:
            raise WorkError(
                f"process {pid} was killed, and does not end",
                "it may wait for a driver: restart the machine; what was measured is kept",
            )
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def exit_message(code: int, stderr: IO[bytes], before: int) -> str:
    """How a process ended, and its last words.

    Args:
        before: bytes that it had said before.
    """
    how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    stderr.seek(max(before, stderr.seek(0, os.SEEK_END) - STDERR_TAIL_BYTES))
    words = stderr.read().decode(errors="replace").strip()
    return f"{how}\n{words}" if words else how


def kill_all(process: subprocess.Popen[bytes]) -> None:
    """Kills a child and what it started, unless it is waited for: its number may be another's."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
