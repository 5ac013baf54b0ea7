"""A dispatch, as it was read: what it computes, and what each candidate is compiled from."""

from __future__ import annotations

from dataclasses import dataclass, field

from .emitted import EmittedConstraints
from .problem import KEEP_F64, Problem, Target

EMISSION_CRASHED = "the compiler crashed while emitting constraints"


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
        root: the root op alone, as MLIR text, where a spec's matcher needs it.
        others: root ops of further dispatches in the module, which are not tuned.
        emitted: the constraints that the compiler emitted, one item per GPU pipeline.
        no_constraints_reason: why the compiler emitted no constraints for a GPU dispatch; empty
            where it did, and on CPUs.
        repeated: the function that runs it `repeats` times, for timing; empty if there is none.
    """

    problem: Problem
    target: Target
    source: str = field(repr=False)
    function: str
    inputs: tuple[TensorType, ...]
    outputs: tuple[TensorType, ...]
    default: str
    indexing_maps: tuple[str, ...]
    others: tuple[str, ...] = ()
    emitted: tuple[EmittedConstraints, ...] = field(default=(), repr=False)
    no_constraints_reason: str = ""
    repeated: str = ""
    repeats: int = 1
    root: str = field(default="", repr=False)

    @property
    def f64_remark(self) -> str:
        """What to know of a dispatch that computes in f64; empty for others."""
        if all(o.dtype != "f64" for o in self.problem.operands):
            return ""
        return f"f64 is kept here: iree-compile makes f32 of it without {KEEP_F64}"

    @property
    def emission_crashed(self) -> bool:
        return self.no_constraints_reason.startswith(EMISSION_CRASHED)
