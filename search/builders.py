"""Which spaces a problem has: one per codegen pipeline that can lower it."""

from __future__ import annotations

from . import cpu
from .errors import InputError
from .problem import Problem, Target
from .space import Space


def build_spaces(
    problem: Problem, target: Target, pipeline: str | None = None
) -> tuple[Space, ...]:
    """The spaces of a problem, or the one of the given pipeline.

    Raises:
        InputError: the pipeline cannot lower the problem.
    """
    known = cpu.pipelines(problem)
    if pipeline is not None and pipeline not in known:
        raise InputError(
            f"pipeline {pipeline!r} cannot lower a {problem.kind}",
            f"use one of: {', '.join(known)}",
        )
    return tuple(cpu.build(problem, target, p) for p in known if pipeline in (None, p))
