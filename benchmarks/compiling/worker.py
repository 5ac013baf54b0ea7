"""The child's side of compiling: one candidate per request."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from ...core import (
    NO_MEMORY,
    InputError,
    NoRoomError,
    ResumableError,
    SpecRefusedError,
    first_line,
    is_full,
    is_out_of_memory,
    write_error,
)
from ...search import Dispatch, TuningSpec, executable_pipeline
from ...search.mlir import (
    CompileFailed,
    assemble,
    compile_executable,
    compile_with_spec,
    spec_text,
    split_module,
)
from ..measuring import executable_digest

# What the compiler says of a linker that SIGKILL ended, by its wait status or a shell's around it,
# or that did not start: where memory is short, its libraries are not loaded (exit code 127).
_LINKER_KILLED = re.compile(
    rb"^Linking failed; .* returned exit code (9|35072|32512):", re.MULTILINE
)
# What the linker says, or the compiler, where a disk or a user's quota is full.
_FULL = re.compile(rb"[^\n]*(No space left on device|Disk quota exceeded)")
_ROOM = "make room, then go on where it stopped"
# What compilers say of a program of theirs that SIGKILL ended, or that got no memory: GCC, Clang.
_PART_KILLED = re.compile(
    r"Killed signal terminated program|terminated with signal 9|unable to execute command: Killed"
    r"|out of memory allocating"
)


# What a request makes of a module: bytecode for the runtime; a model in parts, as JSON; one of
# these, compiled, for a request that assembles them.
MODULE, SPLIT, EXECUTABLE = "module", "split", "executable"


@dataclass(frozen=True)
class CompileRequest:
    """A module at `executable-sources`, how to compile it, and where the executable goes.

    Attributes:
        spec: the tuning spec, or its text; None compiles the compiler's own default. It is written
            beside the executable.
        makes: what goes there, one of `MODULE`, `SPLIT` and `EXECUTABLE`.
    """

    source: str
    flags: tuple[str, ...]
    spec: TuningSpec | str | None
    executable: Path
    makes: str = MODULE


@dataclass(frozen=True)
class AssembleRequest:
    """A split model, of which some executables are replaced, and where the whole goes.

    Attributes:
        host: the file with the host's code.
        parts: files with compiled executables.
    """

    host: Path
    parts: tuple[Path, ...]
    flags: tuple[str, ...]
    executable: Path


@dataclass(frozen=True)
class BuildRequest:
    """A candidate of a pipeline with a compiler of its own, and where the executable goes."""

    pipeline: str
    dispatch: Dispatch
    candidate: Mapping[str, int]
    executable: Path


@dataclass(frozen=True)
class CompileReply:
    """What the compiler said.

    Attributes:
        error: empty on success.
        linker_killed: whether it failed since a process that it starts, such as the linker, was
            killed or did not start.
        applied: dispatches of which the spec matched an op.
        digest: of the executable.
    """

    error: str = ""
    details: str = ""
    applied: tuple[str, ...] = ()
    digest: str = ""
    seconds: float = 0.0
    linker_killed: bool = False


def answer(request: CompileRequest | AssembleRequest | BuildRequest) -> CompileReply:
    if isinstance(request, BuildRequest):
        return _build(request)
    start, said = time.perf_counter(), os.fstat(2).st_size
    try:
        executable, applied = _compile(request)
    except CompileFailed as error:
        seconds = time.perf_counter() - start
        words = _said_since(said)
        _check_room(words + error.details.encode())
        return CompileReply(
            error=str(error),
            details=error.details,
            seconds=seconds,
            linker_killed=_LINKER_KILLED.search(words) is not None,
        )
    _write(request.executable, executable)
    return CompileReply(
        applied=applied,
        digest=executable_digest(executable),
        seconds=time.perf_counter() - start,
    )


def _compile(request: CompileRequest | AssembleRequest) -> tuple[bytes, tuple[str, ...]]:
    """What is asked for, and the dispatches that a spec was applied to."""
    if isinstance(request, AssembleRequest):
        parts = [path.read_text() for path in request.parts]
        return assemble(request.host.read_text(), parts, request.flags), ()
    spec = _write_spec(request)
    module = (request.source, request.flags, spec)
    try:
        if request.makes == SPLIT:
            return json.dumps(asdict(split_module(*module))).encode(), ()
        compiles = compile_executable if request.makes == EXECUTABLE else compile_with_spec
        return compiles(*module)
    except SpecRefusedError as error:  # of a configuration that a plug-in rendered
        raise CompileFailed([str(error)]) from None


def _build(request: BuildRequest) -> CompileReply:
    pipeline = executable_pipeline(request.pipeline)
    assert pipeline is not None, "the process that asks knows it"
    start = time.perf_counter()
    error, details, digest = "", "", ""
    killed = False
    try:
        pipeline.build(request.dispatch, request.candidate, request.executable)
        digest = executable_digest(request.executable.read_bytes())
    except ResumableError:
        raise  # it says nothing of the candidate
    except subprocess.CalledProcessError as failure:
        said = failure.stderr or failure.stdout or b""
        details = said if isinstance(said, str) else said.decode(errors="replace")
        program = failure.cmd if isinstance(failure.cmd, str) else failure.cmd[0]
        error = f"{program} gave {failure.returncode}: {_error_line(details)}"
        killed = failure.returncode == -signal.SIGKILL
    except Exception as failure:  # another package's
        if isinstance(failure, OSError) and is_full(failure):
            raise write_error(request.executable, failure, "make room") from failure
        error = f"{type(failure).__name__}: {first_line(failure)}"
        details = traceback.format_exc()
        killed = isinstance(failure, OSError) and is_out_of_memory(failure)
    seconds = time.perf_counter() - start
    told = f"{error}\n{details}"
    _check_room(told.encode(errors="replace"))
    killed = killed or any(trouble.search(told) for trouble in (NO_MEMORY, _PART_KILLED))
    return CompileReply(
        error=error, details=details, digest=digest, seconds=seconds, linker_killed=killed
    )


def _error_line(said: str) -> str:
    """The first line of a compiler's that says what is wrong."""
    lines = said.strip().splitlines() or ["it said nothing"]
    return next((line for line in lines if "error" in line), lines[0])


def _check_room(said: bytes) -> None:
    """Tells a full disk from what is wrong with a candidate.

    Raises:
        NoRoomError: a compiler, or what it starts, said so.
    """
    if full := _FULL.search(said):
        raise NoRoomError(full[0].decode(errors="replace").strip(), _ROOM)


def _write_spec(request: CompileRequest) -> Path | None:
    if request.spec is None:
        return None
    path = request.executable.with_suffix(".mlir")
    try:
        text = request.spec if isinstance(request.spec, str) else spec_text(request.spec)
    except InputError as error:  # of a configuration that a plug-in rendered
        raise CompileFailed([str(error)]) from None
    _write(path, text.encode())
    return path


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise write_error(path, error, _ROOM) from error


def _said_since(size: int) -> bytes:
    """What was written to stderr after its first `size` bytes; stderr of a `Child` is a file."""
    try:
        return os.pread(2, os.fstat(2).st_size - size, size)
    except OSError:
        return b""
