"""Reads a dispatch from MLIR: finds the root op and names its dims and types.

The work is done in a child process (`read_dispatch` here, `_read` there), because the compiler can
crash on what users bring.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import InputError
from .isolate import Child, ChildDied, ChildTimeout
from .problem import Problem, Target
from .target import describe_target, resolve_target, unknown_target

READ_TIMEOUT = 300.0


@dataclass(frozen=True)
class TensorType:
    """Shape and element type of a function's input or output."""

    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Dispatch:
    """A dispatch, ready to be compiled once per candidate.

    Attributes:
        source: the module at phase `executable-sources`, from which each candidate is compiled.
        function: the public function that runs it.
        default: the lowering config and pipeline that the compiler chooses by itself.
        indexing_maps: of the root op, as the spec's matcher needs them.
        others: root ops of further dispatches in the module that are not tunable.
    """

    problem: Problem
    target: Target
    source: str
    function: str
    inputs: tuple[TensorType, ...]
    outputs: tuple[TensorType, ...]
    default: str
    indexing_maps: tuple[str, ...]
    others: tuple[str, ...] = ()


def read_dispatch(path: Path, target: str = "host") -> Dispatch:
    """Reads the dispatch in `path` for a target.

    Args:
        path: a plain linalg function, or a benchmark file that the compiler dumped with
            `--iree-hal-dump-executable-benchmarks-to=`.
        target: `host` or the name of a CPU that the compiler knows.

    Raises:
        InputError: the file cannot be read, or does not hold exactly one dispatch of static shape.
        NotTunableError: its root op is not one that can be tuned.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", "give an MLIR file") from error
    if not text.strip():
        raise InputError(f"{path} is empty", "give an MLIR file with one dispatch")
    request = {"name": str(path), "text": text, "target": resolve_target(target)}
    with Child("frontrunner.search.inspect:read") as child:
        try:
            answer: dict[str, Any] = child.call(request, timeout=READ_TIMEOUT)
        except ChildDied as death:
            if "is not a recognized processor" in str(death):
                raise unknown_target(target) from death
            first = str(death).splitlines()[0]
            raise InputError(
                f"the compiler crashed while reading {path} ({first})",
                "reduce the input and report it to IREE",
            ) from death
        except RuntimeError as error:
            raise InputError(f"cannot make out {path}: {error}", "please report it") from error
        except ChildTimeout as late:
            raise InputError(f"the compiler took over {READ_TIMEOUT:.0f} s on {path}") from late
    return Dispatch(
        problem=answer["problem"],
        target=describe_target(target, answer["executable_target"]),
        source=answer["source"],
        function=answer["function"],
        inputs=parse_signature(answer["declaration"])[0],
        outputs=parse_signature(answer["declaration"])[1],
        default=answer["default"],
        indexing_maps=answer["indexing_maps"],
        others=answer["others"],
    )


_TENSOR = re.compile(r"tensor<((?:\d+x|\?x)*)([a-zA-Z][a-zA-Z0-9]*)[^>]*>")


def parse_signature(
    declaration: str,
) -> tuple[tuple[TensorType, ...], tuple[TensorType, ...]]:
    """Inputs and outputs of an `iree.abi.declaration`, which is text in the compiled module too.

    Raises:
        InputError: a tensor is of dynamic shape.
    """
    takes, _, gives = declaration.partition("->")

    def tensors(side: str) -> tuple[TensorType, ...]:
        found = []
        for match in _TENSOR.finditer(side):
            if "?" in match[1]:
                raise InputError(
                    f"{match[0]} has a dynamic shape; tuning needs static sizes",
                    "replace each ? by the size that you run",
                )
            found.append(TensorType(tuple(int(d) for d in match[1].split("x")[:-1]), match[2]))
        return tuple(found)

    return tensors(takes), tensors(gives)
