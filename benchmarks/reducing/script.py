"""Runs the script of a reproducer, and tells how it fails."""

from __future__ import annotations

import os
import re
import sysconfig
from pathlib import Path

from ...core import ChildTimeout, KilledError, run_tool
from ..compiling import SCRIPT, normalise

SCRIPT_TIMEOUT = 60.0
CRASHED = "crashed"
# Of what SIGKILL ended: the script, and what a shell ran.
KILLED_CODES = (-9, 128 + 9)

# A frame of the stack that a crashed compiler prints, such as
# `#10 0x00007f28724fd mlir::iree_compiler::assertDivisible(mlir::OpBuilder&, ...) File.cpp:0:0`.
_FRAME = re.compile(r"^\s*#\d+ 0x[0-9a-f]+ (.*?)(?: [\w.]+:\d+:\d+)?$", re.MULTILINE)
# Of the handler of signals, and of what all passes go through.
_GENERAL = re.compile(r"^\(|^llvm::sys::|SignalHandler|^mlir::(detail|Operation|OpBuilder|Op\b)")
_ERROR = re.compile(r"^.*?\berror: .*$", re.MULTILINE)
_SAYS = ("[FAILED]", "the spec matched no op")
# What the runtime gave up with, such as `RESOURCE_EXHAUSTED; failed to allocate`.
_STATUS = re.compile(r"\b([A-Z][A-Z_]+);")


def run_script(folder: Path, timeout: float = SCRIPT_TIMEOUT) -> tuple[str, str]:
    """How a reproducer's script fails, without what differs between sizes; and all that it said.

    Returns:
        An empty text, first, where it does not fail.

    Raises:
        KilledError: what runs it was killed, or what it runs.
    """
    tools = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")])
    line = ["env", f"PATH={tools}", "sh", folder / SCRIPT]
    try:
        done = run_tool(line, timeout)
    except ChildTimeout:
        return "timeout", f"the script took over {timeout:g} s"
    if done.code in KILLED_CODES:
        raise KilledError(f"{folder / SCRIPT} was killed")
    said = f"{done.err}\n{done.out}".strip()
    return (_manner(done.code, said) if done.code else ""), said


def _manner(code: int, said: str) -> str:
    if "Stack dump" in said:
        return f"{CRASHED} in {crash_site(said)}"
    if error := _ERROR.search(said):
        return normalise(error[0])
    if told := next((words for words in _SAYS if words in said), ""):
        return told
    status = _STATUS.search(said)
    # Of what a signal ended, such as a kernel, there is only the exit code.
    return f"exit code {code}, {status[1]}" if status else f"exit code {code}"


def crash_site(said: str) -> str:
    """The function of the compiler that crashed, by the stack that it printed."""
    frames = [frame.partition("(")[0] or frame for frame in _FRAME.findall(said)]
    own = [frame for frame in frames if "iree_compiler" in frame]
    rest = [frame for frame in frames if not _GENERAL.search(frame)]
    return next(iter([*own, *rest]), "an unknown place")
