"""Codegen pipelines of other packages: their knobs, constraints, and how candidates are rendered.

A package announces one by the entry-point group `frontrunner.pipelines`, as it does a ranker. Its
candidates stand beside those of the backend's own pipelines, in the same queue.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, ClassVar

from ..core import load_named_values
from .problem import Problem, Target
from .space import Constraint, Knob, Space

if TYPE_CHECKING:
    import z3

    from .dispatch import Dispatch

ENTRY_POINTS = "frontrunner.pipelines"


class Pipeline(ABC):
    """A way to lower dispatches, with knobs of its own.

    Attributes:
        name: what candidates, tables and `--pipeline` call it.
        backend: of the compiler, that its candidates are for, such as `llvm-cpu`.
    """

    name: ClassVar[str]
    backend: ClassVar[str]

    @abstractmethod
    def knobs(self, problem: Problem, target: Target) -> Sequence[Knob]:
        """The knobs of a problem's candidates; none if it cannot lower the problem."""

    @abstractmethod
    def render(self, problem: Problem, candidate: Mapping[str, int]) -> str:
        """A candidate as the text of a `compilation_info` attribute."""

    def constraints(self, problem: Problem, target: Target) -> Sequence[Constraint]:
        """What candidates have to meet, over the knobs' variables."""
        return ()

    def derived(self, problem: Problem, target: Target) -> Sequence[tuple[str, z3.ArithRef]]:
        """What candidates mean, in the columns that features are computed from.

        Rankers see no more of a candidate than these and the knobs: see `space.py` for the names.
        Without any, candidates are ordered as if nothing were known of them.
        """
        return ()

    def space(self, problem: Problem, target: Target) -> Space:
        """All candidates of a problem."""
        return Space(
            problem=problem,
            target=target,
            pipeline=self.name,
            knobs=tuple(self.knobs(problem, target)),
            constraints=tuple(self.constraints(problem, target)),
            render=partial(self.render, problem),
            derived=tuple(self.derived(problem, target)),
        )


@cache
def known_pipelines() -> dict[str, Pipeline]:
    """Those of other packages, by name.

    Raises:
        InputError: one cannot be used.
    """
    brought = load_named_values(ENTRY_POINTS, Pipeline, "frontrunner.search.Pipeline", ())  # type: ignore[type-abstract]
    return {pipeline.name: pipeline for pipeline in brought}


def brought_spaces(dispatch: Dispatch) -> dict[str, Callable[[], Space]]:
    """By pipeline of another package that can lower a dispatch: what makes its space."""
    problem, target = dispatch.problem, dispatch.target
    return {
        name: partial(pipeline.space, problem, target)
        for name, pipeline in known_pipelines().items()
        if pipeline.backend == target.backend and pipeline.knobs(problem, target)
    }
