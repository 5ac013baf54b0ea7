"""Which GPU spaces a dispatch has: the compiler's, ours, or some of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from ...core import InputError
from ..dispatch import Dispatch
from ..problem import Problem, Target
from ..space import Space
from . import emitted_spaces, mma, own_spaces


def gpu_spaces(
    dispatch: Dispatch, extras: Mapping[str, tuple[int, ...]]
) -> Mapping[str, Callable[[], Space]]:
    """For each pipeline that can lower the dispatch, a function that builds its Space.

    Args:
        extras: knobs that the compiler pins and that are set free, with their values.

    Raises:
        InputError: the target has no floats of 8 bits, or others.
    """
    problem, target = dispatch.problem, dispatch.target
    _check_types(problem, target)
    own = {
        p: partial(own_spaces.build, problem, target, p, extras)
        for p in own_spaces.pipelines(problem, target)
    }
    emitted = {
        p: partial(emitted_spaces.build, problem, target, p, e, extras)
        for p, e in emitted_spaces.pipelines(dispatch.emitted).items()
    }
    # Ours pads loops that do not divide, which the compiler's cannot (see `emitted_spaces`).
    if own and emitted and mma.is_ragged(problem, target):
        return {**emitted, **own}
    return emitted or own


def _check_types(problem: Problem, target: Target) -> None:
    """Refuses floats of 8 bits that no instruction of the target takes: the compiler does, too."""
    assert target.gpu is not None
    taken = {dtype for i in target.gpu.intrinsics for dtype in i.types if dtype.startswith("f8")}
    for operand in problem.operands:
        if operand.dtype.startswith("f8") and operand.dtype not in taken:
            raise InputError(
                f"{target.arch} has no {operand.dtype}, which {operand.name} is in",
                f"use one of: {', '.join(sorted(taken))}" if taken else "use a wider type",
            )
