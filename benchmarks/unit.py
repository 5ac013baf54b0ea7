"""A module with a function to run, whatever it holds: what is compiled, and how it is called."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from ..search import Dispatch, InputError
from ..search.model import Model
from ..search.problem import BYTES
from .call import Call, call_of


@dataclass(frozen=True)
class Unit:
    """A module at phase `executable-sources`.

    Attributes:
        flags: that it is compiled with.
        flops: of the function; None where nobody knows.
        size: of a typical value that the function returns, given normal inputs.
    """

    source: str
    flags: tuple[str, ...]
    call: Call
    flops: int | None = None
    size: float = 1.0

    @classmethod
    def of(cls, dispatch: Dispatch) -> Self:
        call, problem = call_of(dispatch), dispatch.problem
        # Sums of so many products of normal inputs; attention's weights add up to 1.
        size = 1.0 if problem.kind == "attention" else math.sqrt(call.reduction)
        return cls(dispatch.source, dispatch.target.flags, call, problem.flops, size)

    @classmethod
    def of_model(cls, model: Model) -> Self:
        """Of what holds no dispatch that can be tuned.

        Raises:
            InputError: it has several functions, or shapes that are not known.
        """
        function = model.function(None)
        sides = []
        for side in (function.inputs, function.outputs):
            sides.append(tuple((tuple(d or 0 for d in a.shape), a.dtype) for a in side))
            if any(None in a.shape or not a.used for a in side):
                raise InputError("it has dynamic shapes, or inputs that are not used")
        call = Call(function.name, sides[0], sides[1], reduction=1)
        return cls(model.source, model.target.flags, call)

    @property
    def moved(self) -> int:
        """Bytes of all that is read and written once."""
        tensors = (*self.call.inputs, *self.call.outputs)
        return sum(math.prod(shape) * BYTES[dtype] for shape, dtype in tensors)
