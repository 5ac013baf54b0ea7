"""How executables of a dispatch are called: the same for the default and for every candidate."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...search import Dispatch

Tensors = tuple[tuple[tuple[int, ...], str], ...]


@dataclass(frozen=True)
class Call:
    """A function with the shapes and element types of what it takes and gives.

    Attributes:
        reduction: how many terms are summed up in an output; tolerances grow with it.
    """

    function: str
    inputs: Tensors
    outputs: Tensors
    reduction: int

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def call_of(dispatch: Dispatch) -> Call:
    """How a dispatch's executables are called."""
    sizes = [d.size for d in dispatch.problem.by_role("k")]
    # Attention's two reductions follow each other; a convolution's loops are one.
    reduction = sum(sizes) if dispatch.problem.kind == "attention" else math.prod(sizes)
    return Call(
        function=dispatch.function,
        inputs=tuple((t.shape, t.dtype) for t in dispatch.inputs),
        outputs=tuple((t.shape, t.dtype) for t in dispatch.outputs),
        reduction=reduction,
    )
