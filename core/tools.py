"""Other programs, run in such a way that they end with this process, however it ends.

So does what they start, unless it leaves their process group.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from .children import Child, ChildDied, ChildKilled, ChildTimeout
from .errors import KilledError, WorkError, first_line


@dataclass(frozen=True)
class ToolResult:
    """Exit code and output of a program.

    Attributes:
        code: what it exited with; less than 0 if a signal ended it.
    """

    code: int
    out: str
    err: str


def run_tool(arguments: Sequence[object], timeout: float | None = None) -> ToolResult:
    """Runs a program to its end.

    Raises:
        WorkError: it cannot be started, or what runs it died.
        KilledError: what runs it was killed from outside.
        ChildTimeout: it takes longer than that many seconds, and is gone.
    """
    line = [str(argument) for argument in arguments]
    with Child(f"{__name__}:run_program") as child:
        try:
            done: ToolResult = child.call(line, timeout)
        except ChildKilled as death:
            raise KilledError(f"{line[0]} was {death}") from death
        except ChildDied as death:
            raise WorkError(f"{line[0]} was ended: {first_line(death)}") from death
    return done


def run_program(line: Sequence[str], timeout: float | None = None) -> ToolResult:
    """Runs a program to its end, in the group of this process: children of `Child` end with theirs.

    Raises:
        WorkError: it cannot be started.
        ChildTimeout: it takes longer than that many seconds, and is gone.
    """
    try:
        done = subprocess.run(
            line,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        raise ChildTimeout(f"{line[0]} took over {timeout:g} s") from None
    except OSError as error:
        raise WorkError(
            f"cannot run {line[0]}: {error.strerror}", "see that it is installed"
        ) from error
    return ToolResult(done.returncode, done.stdout, done.stderr)
