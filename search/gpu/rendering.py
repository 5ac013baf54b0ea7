"""Writes GPU configurations as text, by a child with the compiler's attribute bindings."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ...core import (
    CHILD_FAILED,
    NO_MEMORY,
    Child,
    ChildTimeout,
    KilledError,
    child_errors,
    first_line,
)
from ..problem import Problem
from ..space import CannotRender

# The first answer waits for the bindings to load (0.5 s); the others take 0.1 ms.
TIMEOUT = 60.0
# Threads that compile share the child, which answers one at a time.
_TURN = threading.Lock()


@dataclass(frozen=True)
class GpuConfig:
    """A request for a `compilation_info`, in plain values.

    Attributes:
        pipeline: the compiler's name of it, such as `TileAndFuse`.
        lowering: entries of the lowering config; numbers, lists of them (nested too), and True for
            a mark without a value.
        mma: name of the matrix instruction; empty where none is used.
        options: `gpu_pipeline_options`; None for none.
        extras: see `frontrunner.search.gpu.attributes.with_extras`.
        products: lowering configs of the two products of attention, by their names in its
            `decomposition_config`; the matrix instruction is theirs.
    """

    pipeline: str
    workgroup_size: tuple[int, int, int]
    subgroup_size: int
    lowering: Mapping[str, Any]
    mma: str = ""
    options: Mapping[str, int | bool] | None = None
    extras: Mapping[str, int] = field(default_factory=dict)
    products: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class SolutionRequest:
    """A request for the attributes of a solution of emitted constraints.

    Attributes:
        op: MLIR that holds the constraints op.
        extras: as in `GpuConfig`.
    """

    op: str
    knobs: Mapping[str, int]
    extras: Mapping[str, int]


@dataclass(frozen=True)
class MatmulLoopsRequest:
    """A request for the loops of the matmul that a convolution becomes (`MatmulLoops`)."""

    problem: Problem


@dataclass(frozen=True)
class MatmulLoops:
    """The loops of the matmul that a convolution becomes.

    Attributes:
        sizes: of the loops, in order.
        origin: for each loop of the convolution, the matmul's loop that it becomes part of.
        swapped: whether the filter is the left operand.
    """

    sizes: tuple[int, ...]
    origin: tuple[int, ...]
    swapped: bool


def ask_renderer(request: Any) -> Any:
    """The child's answer to a request: see `frontrunner.search.gpu.attributes.answer`.

    Raises:
        CannotRender: there is none.
        KilledError: the child was killed, twice, got no memory, or was too slow to answer.
    """
    failed = "the compiler cannot express a configuration"
    with child_errors("writing configurations", CannotRender, failed), _TURN:
        try:
            return _child().call_with_retry(request, timeout=TIMEOUT)
        except CHILD_FAILED as failure:
            # No configuration takes as long, or as much memory: the machine is too busy.
            if isinstance(failure, ChildTimeout) or NO_MEMORY.search(str(failure)):
                raise KilledError(f"writing configurations gave {first_line(failure)}") from failure
            raise


def render(configure: Callable[..., GpuConfig], *given: Any) -> str:
    """Renders a candidate of one of frontrunner's own GPU spaces as a `compilation_info`.

    Args:
        given: arguments of `configure`, the candidate last.
    """
    return str(ask_renderer(configure(*given)))


@cache
def _child() -> Child:
    return Child("frontrunner.search.gpu.attributes:answer")
