"""The IREE compiler as a library: phases, flags and diagnostics.

The compiler can crash its process, so nothing here is called in the tuner's own: the reader and
the compile workers run it in child processes (see `frontrunner.core.children`).
"""

from __future__ import annotations

import ctypes
import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from iree.compiler import ir
from iree.compiler.api import Invocation, Output, Session, Source, ctypes_dl

from ...core import InputError, UnknownFlagError, shorten
from ..bytecode import BYTECODE
from ..spec import APPLIED_MARK, SPEC_OPTION, spec_option
from .contents import NotMlir, check_source, check_spec, parse
from .walking import new_context

SOURCES = "executable-sources"
CONFIGURATIONS = "executable-configurations"

DUMP_SPECS = "--iree-codegen-dump-tuning-specs-to"
# As they were set, once they were: the compiler takes flags that its sessions do not know for its
# whole process, and once.
_process_flags: list[tuple[str, ...]] = []

_SERIALIZED_SPEC = "iree_codegen.tuning_spec_mlirbc"
_ERROR = 2
_NAME = re.compile(r'"[^"]*"|[\w$.]+')
_DIAGNOSTIC = ctypes.CFUNCTYPE(
    None, ctypes.c_int, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t, ctypes.c_void_p
)


class CompileFailed(Exception):
    """The compiler refused; the message is its first error, `details` holds all of them."""

    def __init__(self, errors: Sequence[str]) -> None:
        super().__init__(shorten(errors[0]) if errors else "the compiler failed without a word")
        self.details = "\n".join(errors)


class Compilation:
    """One module on its way through the compiler's phases."""

    def __init__(self, session: Session, invocation: Invocation, errors: list[str]) -> None:
        self._session = session
        self._invocation = invocation
        self._errors = errors

    def configure(self) -> None:
        """Runs from `SOURCES` to `CONFIGURATIONS`, in one thread.

        With several the compiler may wait for itself for ever: while it verifies a tuning spec,
        under a lock, the thread takes up another dispatch, which wants the lock (4 of 150 compiles
        of a model with two dispatches, IREE 3.13.0).
        """
        context = self._session.context
        context.enable_multithreading(False)
        self.run(start=SOURCES, stop=CONFIGURATIONS)
        context.enable_multithreading(True)

    def run(self, *, start: str = "start", stop: str = "end") -> None:
        """Runs the phases after `start` up to `stop`; an invocation may do so several times."""
        # The phase setters are in the C API, but the Python classes do not wrap them.
        lib, handle = ctypes_dl._dylib, ctypes.c_void_p(self._invocation._inv_p)
        lib.ireeCompilerInvocationSetCompileFromPhase(handle, start.encode())
        lib.ireeCompilerInvocationSetCompileToPhase(handle, stop.encode())
        if not self._invocation.execute():
            raise CompileFailed(self._errors)

    @contextmanager
    def module(self) -> Iterator[ir.Operation]:
        """What the last phase left, to be looked at or changed; the next phase takes it so."""
        module = self._invocation.export_module()
        yield module
        self._invocation.import_module(module)

    def text(self) -> str:
        return self._output(self._invocation.output_ir).decode()

    def vmfb(self) -> bytes:
        return self._output(self._invocation.output_vm_bytecode)

    @staticmethod
    def _output(write: Any) -> bytes:
        with Output.open_membuffer() as output:
            write(output)
            return bytes(output.map_memory())


def _set_process_flags(flags: tuple[str, ...]) -> None:
    """Sets flags of the whole process.

    Raises:
        RuntimeError: others were set before.
    """
    if not _process_flags:
        _process_flags.append(flags)
        if flags:
            ctypes_dl._initializeGlobalCL("frontrunner", *flags)
    if _process_flags[0] != flags:
        raise RuntimeError(f"this process compiles with {_process_flags[0]}, not with {flags}")


@cache
def _split_flags(flags: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Flags that a session takes, and those that only the compiler as a whole may know.

    Raises:
        UnknownFlagError: a flag takes no such value.
    """
    whole = []
    with Session() as session:
        for flag in flags:
            try:
                session.set_flags(flag)
            except ValueError as error:
                if "option not found" not in str(error):
                    said = " ".join(str(error).split())
                    raise UnknownFlagError(f"the compiler refuses {flag}: {said}") from None
                whole.append(flag)
    return tuple(flag for flag in flags if flag not in whole), tuple(whole)


@contextmanager
def compilation(source: bytes, flags: Sequence[str]) -> Iterator[Compilation]:
    """Parses `source` (MLIR text or bytecode) for compiling with `flags`.

    Raises:
        CompileFailed: the source does not parse.
        UnknownFlagError: a flag takes no such value. One that there is not ends the process.
    """
    errors: list[str] = []

    def note(severity: int, message: Any, size: int, _user: Any) -> None:
        if severity == _ERROR:
            words = ctypes.string_at(message, size)
            errors.append(words.decode(errors="replace"))
            os.write(2, words.partition(b"\n")[0] + b"\n")  # for the case that it crashes next

    # Each spec has a path of its own: what is known of the others is to be asked once.
    spec = [flag for flag in flags if flag.startswith(f"{SPEC_OPTION}=")]
    own, whole = _split_flags(tuple(flag for flag in flags if flag not in spec))
    _set_process_flags(whole)
    with Session() as session:
        session.set_flags(*own, *spec)
        with session.invocation() as invocation:
            callback = _DIAGNOSTIC(note)
            ctypes_dl._dylib.ireeCompilerInvocationEnableCallbackDiagnostics(
                ctypes.c_void_p(invocation._inv_p), ctypes.c_int(0), callback, None
            )
            # A crash handler or a printed IR would go to stderr; text must end in NUL.
            ended = source if source.startswith(BYTECODE) else source + b"\0"
            parsed = Source.wrap_buffer(session, ended)
            if not invocation.parse_source(parsed):
                raise CompileFailed(errors)
            yield Compilation(session, invocation, errors)


@contextmanager
def users_compilation(name: str, source: bytes, flags: Sequence[str]) -> Iterator[Compilation]:
    """As `compilation`, of what a user brings.

    Raises:
        InputError: it does not compile, or does more than compute.
    """
    try:
        check_source(source, name)
        with compilation(source, flags) as unit:
            yield unit
    except (CompileFailed, NotMlir) as error:
        raise InputError(
            f"{name} does not compile: {error}", "see that iree-compile accepts it"
        ) from None


def _embed(source: str, spec: Path) -> str:
    """The module with the spec inside its executables.

    For targets whose option for a spec is one of the whole process (see `spec_option`): this is
    where the compiler itself keeps a spec between reading it and applying it. Line numbers end up
    in executables, so everything else stays where it is.
    """
    with new_context(), ir.Location.unknown():
        library = parse(spec.read_bytes())
        code = io.BytesIO()
        library.operation.write_bytecode(code)
    size = len(code.getvalue())
    value = f'dense<"0x{code.getvalue().hex()}"> : vector<{size}xi8>'
    return source.replace(
        "builtin.module {", f"builtin.module attributes {{{_SERIALIZED_SPEC} = {value}}} {{"
    )


@contextmanager
def configure_module(
    source: str, flags: Sequence[str], spec: Path | None
) -> Iterator[tuple[Compilation, dict[str, str]]]:
    """A module at `executable-sources`, configured under a tuning spec, by the compiler or both.

    Yields:
        The compilation, and, if there is a spec, the text of each dispatch by the function of its
        executable.

    Raises:
        CompileFailed: the module or the spec does not parse, or the compiler refuses it.
        InputError: the module does more than compute.
        SpecRefusedError: the spec does more than match and configure.
    """
    path = ""
    try:
        check_source(source.encode())
        if spec is not None:
            check_spec(spec.read_bytes())
    except NotMlir as error:
        raise CompileFailed([str(error)]) from None
    if spec and spec_option(flags) == SPEC_OPTION:
        path = str(spec)
    elif spec:
        source = _embed(source, spec)
    # Given even where it is empty: on ROCm the path of an earlier session of the process stays.
    with compilation(source.encode(), [*flags, f"{SPEC_OPTION}={path}"]) as unit:
        unit.configure()
        # 2 ms against the 300 to 500 ms that the backend takes afterwards.
        parts = unit.text().split("hal.executable.export public @")[1:] if spec else []
        names = (_NAME.match(part) for part in parts)
        yield unit, {n[0].strip('"'): part for n, part in zip(names, parts, strict=True) if n}


def compile_with_spec(
    source: str, flags: Sequence[str], spec: Path | None
) -> tuple[bytes, tuple[str, ...]]:
    """Compiles a module at `executable-sources` under a tuning spec.

    Returns:
        The executable, and the dispatches in which the spec's annotation was found on an op: a spec
        that matches nothing is silently ignored by the compiler.
    """
    with configure_module(source, flags, spec) as (unit, dispatches):
        unit.run(start=CONFIGURATIONS)
        return unit.vmfb(), applied(dispatches)


def applied(dispatches: Mapping[str, str]) -> tuple[str, ...]:
    """Those of `configure_module` in which a spec's annotation was found on an op."""
    return tuple(name for name, text in dispatches.items() if APPLIED_MARK in text)
