"""Asks the process that knows MLflow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from ...core import last_line, temporary_folder

# Seconds that the writer has to end its runs in, beyond those that it is given for its work.
GRACE = 6.0
WRITER = Path(__file__).with_name("mlflow_writer.py")
# What the user has set stays. MLflow would try a dead server for minutes, and report usage to its
# makers.
DEFAULTS = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_DISABLE_TELEMETRY": "true",
}


def environment() -> dict[str, str]:
    """Of processes that use MLflow."""
    return DEFAULTS | dict(os.environ) | {"TMPDIR": str(temporary_folder())}


def tell_mlflow(request: Mapping[str, Any], timeout_s: float) -> None:
    """Has `mlflow_writer` do something that nobody waits for: it outlives this process.

    Raises:
        OSError: it cannot be started.
    """
    process = subprocess.Popen(
        _command(),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Without our folder of temporary files, which is about to be removed.
        env=DEFAULTS | dict(os.environ),
        start_new_session=True,
    )
    assert process.stdin is not None
    with process.stdin as stdin:
        stdin.write(_told(request, timeout_s).encode())
    # Python would warn of a process that is never waited for.
    process.returncode = 0


class MlflowWriter:
    """`mlflow_writer`, in a process of its own, which is asked once.

    Args:
        store: `uri`, `experiment` and `artifact_root` of the store that it is to open before it is
            asked: importing MLflow and opening a store take 2 to 3 s, asking then 0.4 s.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, store: Mapping[str, Any] | None = None) -> None:
        theirs, self._ours = os.pipe()
        try:
            self._process = subprocess.Popen(
                [*_command(), str(theirs)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment(),
                # When this process ends, the other end is closed, and the writer ends, too.
                pass_fds=[theirs],
                text=True,
                # A second Ctrl-C ends frontrunner, not a half-written run.
                start_new_session=True,
            )
        except BaseException:
            os.close(self._ours)
            raise
        finally:
            os.close(theirs)
        if store is not None:
            assert self._process.stdin is not None
            with suppress(BrokenPipeError):  # it has ended, which is told when it is asked
                self._process.stdin.write(json.dumps({**store, "ahead": True}) + "\n")
                self._process.stdin.flush()

    def ask(self, request: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        """Has it do something.

        Returns:
            Its answer; what goes wrong is its `error`.
        """
        process = self._process
        try:
            printed, said = process.communicate(_told(request, timeout_s), timeout_s + GRACE)
        except subprocess.TimeoutExpired:
            return {"error": f"no answer within {timeout_s:g} s"}
        lines = printed.splitlines()
        if process.returncode or not lines:
            complaint = last_line(said)
            return {"error": f"MLflow ended with exit code {process.returncode}: {complaint}"}
        answer: dict[str, Any] = json.loads(lines[-1])
        return answer

    def close(self) -> None:
        """Ends the process if it has not ended; it ends its runs before."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.communicate(timeout=GRACE)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.communicate()
        os.close(self._ours)


def ask_mlflow(
    request: Mapping[str, Any], timeout_s: float, writer: MlflowWriter | None = None
) -> dict[str, Any]:
    """Has `mlflow_writer` do something, in a process of its own.

    Args:
        writer: one that was started ahead; it is closed.

    Returns:
        Its answer; what goes wrong is its `error`.
    """
    try:
        with closing(writer or MlflowWriter()) as asked:
            return asked.ask(request, timeout_s)
    except OSError as error:
        return {"error": f"{type(error).__name__}: {error}"}


def _command() -> list[str]:
    # -P: neither this folder nor the current one may shadow what MLflow imports.
    return [sys.executable, "-P", str(WRITER)]


def _told(request: Mapping[str, Any], timeout_s: float) -> str:
    """What the writer reads."""
    return json.dumps({**request, "timeout_s": timeout_s}) + "\n"
