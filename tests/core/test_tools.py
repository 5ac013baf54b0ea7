"""Other programs: what they say, and that none outlives this process."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from frontrunner.core import WorkError
from frontrunner.core.children import ChildTimeout
from frontrunner.core.tools import ToolResult, run_tool

SLEEPS = [sys.executable, "-c", "import threading; threading.Event().wait()"]


def test_what_a_program_came_to() -> None:
    code = "import os, sys; print('out', flush=True); print('err', file=sys.stderr); os.abort()"
    assert run_tool([sys.executable, "-c", code]) == ToolResult(-6, "out\n", "err\n")


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(WorkError, match="cannot run no-such-tool: No such file"):
        run_tool(["no-such-tool"])


def test_a_program_that_hangs(family: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in family.environment().items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ChildTimeout):
        run_tool(SLEEPS, 0.2)
    assert family.has_shrunk(0)


def test_a_program_ends_with_this_process(family: Any) -> None:
    code = f"from frontrunner.core.tools import run_tool; run_tool({SLEEPS!r})"
    with subprocess.Popen([sys.executable, "-c", code], env=family.environment()) as process:
        assert family.has_grown(3)
        process.kill()
        assert family.has_shrunk(0)
