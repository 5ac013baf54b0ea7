"""Reads a dispatch from MLIR: finds the root op and names its dims and types.

The work is done in a child process (`read_dispatch` here, `dispatch_inspection.read` there),
because the compiler can crash on what users bring.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...core import (
    CHILD_FAILED,
    Child,
    ChildDied,
    ChildKilled,
    ChildTimeout,
    FrontrunnerError,
    InputError,
    KilledError,
    ResumableError,
    check_free_space,
    first_line,
)
from ..backend import backend_named
from ..bytecode import BYTECODE
from ..dispatch import EMISSION_CRASHED, Dispatch, TensorType
from ..emitted import EmittedConstraints
from ..problem import Target
from .source import SHAPED, read_in_child, read_source

if TYPE_CHECKING:
    from ...core import ChildPool

READER = "frontrunner.search.reading.dispatch_inspection:read"
READ_TIMEOUT = 300.0
_NAMES = "frontrunner.search.reading.functions:names"
# Also of private ones, and in comments: it only has to find all that may be.
_FUNCTION = re.compile(rb"\b(?:func|util)\.func\b")
_REMEDY = "reduce the input and report it to IREE"


def read_dispatch(
    path: str | os.PathLike[str],
    target: str = "host",
    reader: Child | None = None,
    *,
    function: str | None = None,
    default_specs: bool = False,
    iree_flags: tuple[str, ...] = (),
) -> Dispatch:
    """Reads the dispatch in `path` for a target.

    Args:
        path: a plain linalg function, or a benchmark file that the compiler dumped with
            `--iree-hal-dump-executable-benchmarks-to=`.
        target: `host`, or the name of a CPU or GPU that the compiler knows.
        reader: a process of `READER` that is there already: a new one takes 0.5 s to start.
        function: which one holds it, by its name; the only public one if None. Files may have
            several, and several parts, with `// -----` between them.
        default_specs: whether what is compiled may use the specs that the compiler comes with.
        iree_flags: further ones of the user's for the compiler.

    Raises:
        InputError: the file cannot be read, or does not hold exactly one dispatch of static shape.
        NotTunableError: its root op is not one that can be tuned.
        KilledError: the compiler was killed from outside.
    """
    path = Path(path)
    text = read_source(path, "one dispatch")
    answer = read_in_child(
        READER,
        str(path),
        text,
        target,
        READ_TIMEOUT,
        _REMEDY,
        reader,
        further=iree_flags,
        function=function,
    )
    found = replace(answer["target"], default_specs=default_specs, iree_flags=iree_flags)
    _check_target(path, target, found, answer["meant"])
    emitted, silence = _emitted(answer["source"], found)
    return Dispatch(
        problem=answer["problem"],
        target=found,
        source=answer["source"],
        function=answer["function"],
        inputs=parse_signature(answer["declaration"])[0],
        outputs=parse_signature(answer["declaration"])[1],
        default=answer["default"],
        indexing_maps=answer["indexing_maps"],
        root=answer["root"],
        others=answer["others"],
        repeated=answer["repeated"],
        repeats=answer["repeats"],
        emitted=emitted,
        no_constraints_reason=silence,
    )


def read_dispatches(
    readers: ChildPool, files: Iterable[Path], target: Target
) -> Iterator[Dispatch | FrontrunnerError]:
    """Reads dispatches side by side; of one that cannot be read, the error.

    Args:
        readers: a pool of processes of `READER`.
        target: of a model that they are of, as the compiler read it.

    Raises:
        KilledError: the compiler was killed from outside, twice.
    """

    def read(reader: Child, file: Path) -> Dispatch | FrontrunnerError:
        try:
            return read_dispatch(
                file,
                target.name,
                reader,
                default_specs=target.default_specs,
                iree_flags=target.iree_flags,
            )
        except ResumableError:
            raise
        except FrontrunnerError as error:
            return error

    return readers.map(read, files)


def functions_of(path: Path) -> tuple[str, ...]:
    """The public functions of a file, in order; none where there is at most one.

    Nor of what cannot be read: reading a dispatch of it tells why.
    """
    try:
        text = read_source(path, "one dispatch")
    except InputError:
        return ()
    if not text.startswith(BYTECODE) and len(_FUNCTION.findall(text)) < 2:
        return ()  # which costs no process
    answer: tuple[str, ...]
    with Child(_NAMES) as child:
        try:
            answer = child.call({"text": text}, timeout=READ_TIMEOUT)
        except CHILD_FAILED:
            return ()
    return answer if len(answer) > 1 else ()


def emit_constraints(dispatch: Dispatch) -> Dispatch:
    """The dispatch with what the compiler emits about it now."""
    emitted, silence = _emitted(dispatch.source, dispatch.target)
    return replace(dispatch, emitted=emitted, no_constraints_reason=silence)


def _check_target(path: Path, target: str, found: Target, meant: Target) -> None:
    """Refuses a file for another target: flags would be of one, executables of the other."""
    if (found.backend, found.arch) != (meant.backend, meant.arch):
        made = backend_named(found.backend)
        # A product's name stands for its architecture.
        exact = re.fullmatch(made.architectures, found.arch) or not made.names
        raise InputError(
            f"{path} was dumped for {found.arch}, the target is {target}",
            f"give --target {found.arch}" if exact else f"give as --target {made.examples}",
        )


def _emitted(source: str, target: Target) -> tuple[tuple[EmittedConstraints, ...], str]:
    """The constraints that the compiler emits for pipelines, or why there are none."""
    if not backend_named(target.backend).emits:
        return (), ""
    with Child("frontrunner.search.reading.emission:emit") as child:
        try:
            found: tuple[EmittedConstraints, ...] = child.call(
                (source, target.flags), timeout=READ_TIMEOUT
            )
        except ChildKilled as death:
            raise KilledError(f"the compiler was {death} while it emitted constraints") from death
        except ChildDied as death:
            check_free_space()
            return (), f"{EMISSION_CRASHED} ({first_line(death)})"
        except (ChildTimeout, RuntimeError) as failure:
            return (), f"the compiler's constraints cannot be had ({first_line(failure)})"
    return found, "" if found else "the compiler emits no constraints for it"


_TENSOR = re.compile(rf": tensor{SHAPED}[^>]*>")


def parse_signature(
    declaration: str,
) -> tuple[tuple[TensorType, ...], tuple[TensorType, ...]]:
    """Inputs and outputs of an `iree.abi.declaration`, which is text in the compiled module too.

    Raises:
        InputError: a tensor is of dynamic shape.
    """
    # Names of functions and arguments may hold what types look like.
    takes, _, gives = declaration.rpartition(") -> (")

    def tensors(side: str) -> tuple[TensorType, ...]:
        found = []
        for match in _TENSOR.finditer(side):
            if "?" in match[1]:
                raise InputError(
                    f"{match[0][2:]} has a dynamic shape; tuning needs static sizes",
                    "replace each ? by the size that you run",
                )
            found.append(TensorType(tuple(int(d) for d in match[1].split("x")[:-1]), match[2]))
        return tuple(found)

    return tensors(takes), tensors(gives)
