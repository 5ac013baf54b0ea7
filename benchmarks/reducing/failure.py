"""What is reduced: a dispatch that fails, as text, and the knobs that it fails with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...search import Dispatch
from ..measuring import Outcome

# The stage at which the compiler is asked for the constraints of a dispatch.
EMISSION = "emission"


@dataclass(frozen=True)
class Variant:
    """A dispatch and a configuration: what a reproducer is made of.

    Attributes:
        text: MLIR that holds the dispatch, as users write it or as the compiler dumps it.
        knobs: of a candidate of the pipeline; empty where there is no configuration.
    """

    text: str
    pipeline: str = ""
    knobs: Mapping[str, int] = field(default_factory=dict)

    @property
    def key(self) -> tuple[object, ...]:
        return (self.text, self.pipeline, *sorted(self.knobs.items()))


@dataclass(frozen=True)
class Failure:
    """A variant that fails, and how.

    Attributes:
        outcome: as a run has it; or of stage `EMISSION`, for a crash over no candidate.
        seed: of the inputs that it was run with.
    """

    variant: Variant
    target: str
    outcome: Outcome
    seed: int = 0


@dataclass(frozen=True)
class Size:
    """How large a reproducer is.

    Attributes:
        sizes: of the root op's loops, by name.
        ops: that compute something: the root op, and what is fused to it.
        elements: of all tensors that the dispatch takes and returns.
        characters: of its source and its spec.
        changed: knobs that are not as the compiler chooses them.
    """

    sizes: Mapping[str, int]
    ops: int
    elements: int
    characters: int
    changed: int

    @classmethod
    def of(cls, dispatch: Dispatch, characters: int, changed: int) -> Size:
        tensors = (*dispatch.inputs, *dispatch.outputs)
        return cls(
            {d.name: d.size for d in dispatch.problem.dims},
            1 + len(dispatch.problem.fused),
            sum(math.prod(t.shape) for t in tensors),
            characters,
            changed,
        )

    @property
    def work(self) -> int:
        """What reductions are compared by: ops times elements."""
        return self.ops * self.elements

    def __str__(self) -> str:
        sizes = "x".join(map(str, self.sizes.values()))
        return (
            f"{sizes}, {self.ops} op{'s' if self.ops > 1 else ''} on {self.elements:,} elements, "
            f"{self.characters:,} characters"
        )
