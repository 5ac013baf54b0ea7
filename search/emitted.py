"""What the compiler says about the configurations of one GPU pipeline, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# What makes iree-compile emit constraints, at phase `executable-configurations`.
EMISSION_FLAGS = (
    "--iree-codegen-add-tuner-attributes",
    "--iree-codegen-emit-pipeline-constraints",
)


@dataclass(frozen=True)
class EmittedConstraints:
    """Constraints that the compiler emitted for one pipeline.

    Attributes:
        pipeline: such as `TileAndFuse`.
        smtlib: the constraints.
        reasons: for each constraint, why, in the compiler's words.
        knobs: how the configuration is made from knobs: the compiler's template as nested plain
            values, where a string names a knob and `{"knob", "options"}` a choice. A matrix
            instruction is its m, n, k and the type of its sums.
        op: MLIR that holds the constraints op alone; candidates are materialised from it.
    """

    pipeline: str
    smtlib: str
    reasons: tuple[str, ...]
    knobs: dict[str, Any]
    op: str
