"""The child's side of compiling: one candidate per request."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from pathlib import Path

from ...core import WorkError
from ...search.mlir import CompileFailed, compile_with_spec
from ..measuring import executable_digest

# What the compiler says of a linker that SIGKILL ended: its wait status, or a shell's around it.
_LINKER_KILLED = re.compile(rb"^Linking failed; .* returned exit code (9|35072):", re.MULTILINE)
_ROOM = "make room, then go on where it stopped"


@dataclass(frozen=True)
class CompileRequest:
    """A module at `executable-sources`, how to compile it, and where the executable goes.

    Attributes:
        spec: the tuning spec's file; None compiles the compiler's own default.
    """

    source: str
    flags: tuple[str, ...]
    spec: Path | None
    executable: Path


@dataclass(frozen=True)
class CompileReply:
    """What the compiler said.

    Attributes:
        error: empty on success.
        linker_killed: whether it failed since the linker, a process of its own, was killed.
        applied: dispatches of which the spec matched an op.
        digest: of the executable.
    """

    error: str = ""
    details: str = ""
    applied: tuple[str, ...] = ()
    digest: str = ""
    seconds: float = 0.0
    linker_killed: bool = False


def answer(request: CompileRequest) -> CompileReply:
    start, said = time.perf_counter(), os.fstat(2).st_size
    try:
        executable, applied = compile_with_spec(request.source, request.flags, request.spec)
    except CompileFailed as error:
        seconds = time.perf_counter() - start
        return CompileReply(
            error=str(error),
            details=error.details,
            seconds=seconds,
            linker_killed=_LINKER_KILLED.search(_said_since(said)) is not None,
        )
    try:
        request.executable.write_bytes(executable)
    except OSError as error:
        raise WorkError(f"cannot write {request.executable}: {error.strerror}", _ROOM) from error
    return CompileReply(
        applied=applied,
        digest=executable_digest(executable),
        seconds=time.perf_counter() - start,
    )


def _said_since(size: int) -> bytes:
    """What was written to stderr after its first `size` bytes; stderr of a `Child` is a file."""
    try:
        return os.pread(2, os.fstat(2).st_size - size, size)
    except OSError:
        return b""
