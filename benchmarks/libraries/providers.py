"""Other libraries that compute the same operations on this CPU, to compare with.

The child's side: one process for each library, whose threads would get in the way of others'.
"""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from typing import Any, Protocol

from ...core import first_line
from ..measuring import Array, Timing, make_inputs, sample
from ..operations import Operation

# What each needs to be installed.
NEEDS = {"numpy": ("numpy",), "torch": ("torch",), "onnxruntime": ("onnxruntime", "onnx")}


class Unsupported(Exception):
    """A library does not compute an operation, or not in its types."""


class Prepared(Protocol):
    """An operation on inputs that are there already."""

    def run(self) -> Any:
        """Computes it; this is timed."""

    def fetch(self, result: Any) -> Array:
        """What `run` returned, as the dispatch returns it."""


@dataclass(frozen=True)
class Trial:
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
class Answer:
    """Times of single runs, or why there are none."""

    timing: Timing | None
    unsupported: str = ""


def installed() -> list[str]:
    """The libraries that are there."""
    return [name for name, needs in NEEDS.items() if all(map(importlib.util.find_spec, needs))]


def answer(trial: Trial) -> Answer:
    operation = trial.operation
    inputs = make_inputs([(t.shape, t.dtype) for t in operation.inputs.values()], trial.seed)
    library = importlib.import_module(f".in_{trial.provider}", __package__)
    try:
        prepared: Prepared = library.prepare(operation, inputs, trial.threads)
        first = prepared.run()
    except (Unsupported, NotImplementedError, RuntimeError) as why:
        return Answer(None, first_line(why))
    if trial.verify:
        got, expected = prepared.fetch(first), operation.reference(inputs)
        if (wrong := operation.tolerance.worst(got, expected)) is not None:
            return Answer(Timing(wrong=wrong))
    return Answer(sample(prepared.run, trial.seconds))
