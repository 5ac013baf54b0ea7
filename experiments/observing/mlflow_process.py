"""Asks the process that knows MLflow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...core import temporary_folder

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


def ask_mlflow(request: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
    """Has `mlflow_writer` do something, in a process of its own.

    Returns:
        Its answer; what goes wrong is its `error`.
    """
    theirs, ours = os.pipe()
    try:
        process = subprocess.Popen(
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
        try:
            printed, said = process.communicate(_told(request, timeout_s), timeout_s + GRACE)
        except BaseException:
            _end(process)
            raise
    except subprocess.TimeoutExpired:
        return {"error": f"no answer within {timeout_s:g} s"}
    except OSError as error:
        return {"error": f"{type(error).__name__}: {error}"}
    finally:
        os.close(theirs)
        os.close(ours)
    lines = printed.splitlines()
    if process.returncode or not lines:
        complaint = (said.strip().splitlines() or ["no reason given"])[-1]
        return {"error": f"MLflow ended with exit code {process.returncode}: {complaint}"}
    answer: dict[str, Any] = json.loads(lines[-1])
    return answer


def _end(process: subprocess.Popen[str]) -> None:
    """Ends the writer, which ends its runs before."""
    process.terminate()
    try:
        process.communicate(timeout=GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def _command() -> list[str]:
    # -P: neither this folder nor the current one may shadow what MLflow imports.
    return [sys.executable, "-P", str(WRITER)]


def _told(request: Mapping[str, Any], timeout_s: float) -> str:
    """What the writer reads."""
    return json.dumps({**request, "timeout_s": timeout_s})
