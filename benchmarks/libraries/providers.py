"""Other libraries that compute the same operations on this CPU, to compare with.

The child's side: one process for each library, whose threads would get in the way of others'.
"""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from typing import Any, Protocol

from ...core import first_line
from ..measuring import Timing, time_runs
from ..operations import Operation
from ..verifying import Array, make_inputs

# What each needs to be installed.
REQUIRED_PACKAGES = {
    "numpy": ("numpy",),
    "torch": ("torch",),
    "onnxruntime": ("onnxruntime", "onnx"),
}


class Unsupported(Exception):
    """A library does not compute an operation, or not in its types."""


class PreparedOperation(Protocol):
    """An operation in one library, with its inputs loaded, ready to be timed."""

    def run(self) -> Any:
        """Computes it; this is timed."""

    def fetch(self, result: Any) -> Array:
        """What `run` returned, as the dispatch returns it."""


@dataclass(frozen=True)
class TimingRequest:
    """Times an operation in a library, on the inputs that the dispatch gets.

    Attributes:
        threads: that the library may use.
        verify: whether its result is compared with the reference.
    """

    provider: str
    operation: Operation
    seed: int
    seconds: float
    threads: int
    verify: bool


@dataclass(frozen=True)
class TimingReply:
    """Times of single runs, or why there are none."""

    timing: Timing | None
    unsupported: str = ""


def installed_libraries() -> list[str]:
    """The libraries that are there."""
    return [
        name
        for name, needs in REQUIRED_PACKAGES.items()
        if all(map(importlib.util.find_spec, needs))
    ]


def answer(trial: TimingRequest) -> TimingReply:
    operation = trial.operation
    inputs = make_inputs([(t.shape, t.dtype) for t in operation.inputs.values()], trial.seed)
    library = importlib.import_module(f".in_{trial.provider}", __package__)
    try:
        prepared: PreparedOperation = library.prepare(operation, inputs, trial.threads)
        first = prepared.run()
    except (Unsupported, NotImplementedError, RuntimeError) as why:
        return TimingReply(None, first_line(why))
    if trial.verify:
        got, expected = prepared.fetch(first), operation.reference(inputs)
        if (wrong := operation.tolerance.find_mismatch(got, expected)) is not None:
            return TimingReply(Timing(wrong=wrong))
    return TimingReply(time_runs(prepared.run, trial.seconds))
