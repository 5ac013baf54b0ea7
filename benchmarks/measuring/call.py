"""How executables of a dispatch are called: the same for the default and for every candidate."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

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
