"""The child's side of compiling: one candidate per request."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from ..search import WorkError
from ..search.compiler import CompileFailed, compile_with_spec
from .outcome import digest

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
        applied: dispatches of which the spec matched an op.
        digest: of the executable.
    """

    error: str = ""
    details: str = ""
    applied: tuple[str, ...] = ()
    digest: str = ""
    seconds: float = 0.0


def answer(request: CompileRequest) -> CompileReply:
    start = time.perf_counter()
    try:
        executable, applied = compile_with_spec(request.source, request.flags, request.spec)
    except CompileFailed as error:
        seconds = time.perf_counter() - start
        return CompileReply(error=str(error), details=error.details, seconds=seconds)
    try:
        request.executable.write_bytes(executable)
    except OSError as error:
        raise WorkError(f"cannot write {request.executable}: {error.strerror}", _ROOM) from error
    return CompileReply(
        applied=applied,
        digest=digest(executable),
        seconds=time.perf_counter() - start,
    )
