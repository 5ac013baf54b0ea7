"""A module with a function to run, whatever it holds: what is compiled, and how it is called."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Self

from ...core import InputError
from ...search import ELEMENT_BYTES, Dispatch, kind_of
from ...search.reading import Network
from ..verifying import NUMPY_TYPES, Call, Formula


@dataclass(frozen=True)
class RunnableModule:
    """A module at phase `executable-sources`.

    Attributes:
        flags: that it is compiled with.
        flops: of the function; None where nobody knows.
        output_scale: how large a value that the function returns is, for normally distributed
            inputs.
    """

    source: str
    flags: tuple[str, ...]
    call: Call
    flops: int | None = None
    output_scale: float = 1.0

    @classmethod
    def of(cls, dispatch: Dispatch) -> Self:
        call, problem = call_of(dispatch), dispatch.problem
        # Sums of so many products of normal inputs.
        typical = kind_of(problem).output_scale or math.sqrt(call.reduction)
        return cls(dispatch.source, dispatch.target.flags, call, problem.flops, typical)

    @classmethod
    def of_network(cls, model: Network) -> Self:
        """From a module without a tunable dispatch, which was read as a network.

        Raises:
            InputError: it has several functions, or shapes that are not known.
        """
        function = model.function(None)
        every = (*function.inputs, *function.outputs)
        if any(None in one.shape or not one.used for one in every):
            raise InputError("it has dynamic shapes, or inputs that are not used")
        inputs, outputs = (
            tuple((tuple(d for d in one.shape if d is not None), one.dtype) for one in side)
            for side in (function.inputs, function.outputs)
        )
        call = Call(function.name, inputs, outputs, reduction=1)
        return cls(model.source, model.target.flags, call)

    def __post_init__(self) -> None:
        for _, dtype in (*self.call.inputs, *self.call.outputs):
            if dtype not in NUMPY_TYPES:
                raise InputError(
                    f"element type {dtype} is not supported",
                    f"use one of: {', '.join(NUMPY_TYPES)}",
                )

    @property
    def bytes_moved(self) -> int:
        """Bytes of all that is read and written once."""
        tensors = (*self.call.inputs, *self.call.outputs)
        return sum(math.prod(shape) * ELEMENT_BYTES[dtype] for shape, dtype in tensors)


def call_of(dispatch: Dispatch) -> Call:
    """How a dispatch's executables are called."""
    problem = dispatch.problem
    return Call(
        function=dispatch.function,
        inputs=tuple((t.shape, t.dtype) for t in dispatch.inputs),
        outputs=tuple((t.shape, t.dtype) for t in dispatch.outputs),
        reduction=kind_of(problem).terms_per_output(problem),
        sums=_sums_of(dispatch),
        formula=_formula_of(dispatch),
        repeated=dispatch.repeated,
        repeats=dispatch.repeats,
    )


def _sums_of(dispatch: Dispatch) -> str:
    """What outputs are sums in, where they are these sums, value by value."""
    sums = dispatch.problem.output
    size = math.prod(dispatch.problem.extents(sums))
    alike = all(math.prod(t.shape) == size for t in dispatch.outputs)
    # What follows sums in integers is computed in floats of the outputs' type.
    return sums.dtype if alike and not sums.dtype.startswith("i") else ""


def _formula_of(dispatch: Dispatch) -> Formula | None:
    """What a dispatch computes, if that is no more than its root op does.

    What is fused and takes no further input is not looked at: the default tells whether it matters.
    """
    problem = dispatch.problem
    sums = kind_of(problem).summed_loops(problem)
    alike = len(dispatch.inputs) == len(problem.inputs) and len(dispatch.outputs) == 1
    if not sums or not alike:
        return None
    tensors = (*dispatch.inputs, *dispatch.outputs)
    for operand, tensor in zip(problem.operands, tensors, strict=True):
        # Of an image, the last values may be beyond all windows.
        extents = problem.extents(operand)
        if len(extents) != len(tensor.shape) or any(map(operator.gt, extents, tensor.shape)):
            return None
    if problem.extents(problem.output) != dispatch.outputs[0].shape:
        return None
    loops = tuple(terms[0][0] for terms in problem.output.index)
    if any(terms != ((d, 1),) for terms, d in zip(problem.output.index, loops, strict=True)):
        return None
    sizes = tuple(dim.size for dim in problem.dims)
    return Formula(sizes, tuple(o.index for o in problem.inputs), loops, sums)
