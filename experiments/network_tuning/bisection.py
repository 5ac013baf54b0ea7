"""Which of several specs work together in a model: what fails is found by halving."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...benchmarks.measuring import OK, CompileOutcome
from ...benchmarks.networks import NetworkFailed
from .planning import HotDispatch

Specs = Mapping[HotDispatch, Path]


# Why those do not stay that work by themselves.
WITH_OTHERS = "with others, "


@dataclass(frozen=True)
class WorkingSpecs:
    """Specs that work together.

    Attributes:
        compiled: the model with them; None where there are none.
        failed: why others do not.
        undecided: those of `failed` of which others may be the reason; the time was up.
    """

    specs: Specs
    compiled: CompileOutcome | None
    failed: Mapping[HotDispatch, str]
    undecided: frozenset[HotDispatch] = frozenset()

    @property
    def time_us(self) -> float:
        """What their dispatches take by default."""
        return sum(hot.time_us for hot in self.specs)


def check_compiled(compiled: CompileOutcome) -> None:
    """
    Raises:
        NetworkFailed: the model does not compile so.
    """
    if compiled.kind != OK:
        raise NetworkFailed(compiled.reason)


def find_working(
    specs: Specs,
    compiled: CompileOutcome,
    compile_each: Callable[[Sequence[Specs]], Sequence[CompileOutcome]],
    check: Callable[[CompileOutcome], None],
    deadline: float = math.inf,
) -> WorkingSpecs:
    """The specs that work in the model.

    Of two halves that work, and fail together, the one stays whose dispatches take longer.

    Args:
        compiled: the model with all of them.
        compile_each: compiles the model with some of them, several times.
        check: raises NetworkFailed where such a model fails.
        deadline: when it is not looked any longer which of them fail, so that all do, as
            `time.monotonic` has it.
    """
    try:
        check(compiled)
    except NetworkFailed as failure:
        if len(specs) == 1 or time.monotonic() > deadline:
            undecided = frozenset(specs if len(specs) > 1 else ())
            return WorkingSpecs({}, None, dict.fromkeys(specs, str(failure)), undecided)
    else:
        return WorkingSpecs(specs, compiled, {})
    items = list(specs.items())
    halves = [dict(items[: len(items) // 2]), dict(items[len(items) // 2 :])]
    first, second = (
        find_working(half, one, compile_each, check, deadline)
        for half, one in zip(halves, compile_each(halves), strict=True)
    )
    failed = {**first.failed, **second.failed}
    undecided = first.undecided | second.undecided
    if not first.specs or not second.specs:
        kept = first if first.specs else second
        return replace(kept, failed=failed, undecided=undecided)
    both = {**first.specs, **second.specs}
    (compiled,) = compile_each([both])
    try:
        check(compiled)
    except NetworkFailed as failure:
        kept, other = sorted((first, second), key=lambda part: -part.time_us)
        together = dict.fromkeys(other.specs, f"{WITH_OTHERS}{failure}")
        return replace(kept, failed=failed | together, undecided=undecided)
    return WorkingSpecs(both, compiled, failed, undecided)
