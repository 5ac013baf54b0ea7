"""Codegen pipelines of other packages: their knobs, constraints, and what candidates become.

A package announces one by the entry-point group `frontrunner.pipelines`, as it does a ranker.

* A `Pipeline` renders a candidate as a configuration for IREE's compiler. Its candidates stand
  beside those of the backend's own pipelines, in the same queue.
* An `ExecutablePipeline` makes the executable by itself. Its candidates are tried where it is asked
  for by name, since what wins is an executable, and no tuning spec.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..core import InputError, load_named_values
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
        On CPUs, where there are none, candidates are ordered as if nothing were known of them; for
        GPUs all that are listed there have to be given, and for Vulkan those of its spaces.
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


class ExecutablePipeline(Pipeline):
    """A pipeline with a compiler of its own, which makes executables in place of configurations."""

    @abstractmethod
    def build(self, dispatch: Dispatch, candidate: Mapping[str, int], executable: Path) -> None:
        """Makes a candidate's executable; runs in a process of its own, several side by side.

        Args:
            dispatch: what is computed; also tells the function's name, inputs and outputs.
            executable: the file to write: a module for IREE's runtime, with that function. Other
                files may be written beside it if their names begin with its stem.

        Raises:
            Exception: the candidate cannot be built; what is said is kept as the reason.
        """

    def render(self, problem: Problem, candidate: Mapping[str, int]) -> str:
        """The candidate itself, as JSON: what reports show in place of a configuration."""
        return json.dumps(dict(candidate))


@cache
def known_pipelines() -> dict[str, Pipeline]:
    """Those of other packages, by name.

    Raises:
        InputError: one cannot be used.
    """
    brought = load_named_values(ENTRY_POINTS, Pipeline, "frontrunner.search.Pipeline", ())  # type: ignore[type-abstract]
    return {pipeline.name: pipeline for pipeline in brought}


def executable_pipeline(name: str | None) -> ExecutablePipeline | None:
    """The one of that name, if it makes executables by itself."""
    found = known_pipelines().get(name or "")
    return found if isinstance(found, ExecutablePipeline) else None


def check_rendered(name: str | None, what: str) -> None:
    """Refuses a pipeline whose candidates IREE's compiler does not take.

    Args:
        what: needs the compiler, in words.

    Raises:
        InputError: it makes executables by itself.
    """
    if executable_pipeline(name) is not None:
        raise InputError(
            f"{what} what IREE's compiler makes, but {name} makes executables by itself",
            f"`frontrunner tune --pipeline {name}` takes it",
        )


def brought_spaces(dispatch: Dispatch, asked: str | None) -> dict[str, Callable[[], Space]]:
    """By pipeline of another package that can lower a dispatch: what makes its space.

    Args:
        asked: the pipeline that is asked for by name; those that make executables are left out
            otherwise.
    """
    problem, target = dispatch.problem, dispatch.target
    return {
        name: partial(pipeline.space, problem, target)
        for name, pipeline in known_pipelines().items()
        if (name == asked or not isinstance(pipeline, ExecutablePipeline))
        and pipeline.backend == target.backend
        and pipeline.knobs(problem, target)
    }
