"""Which GPU spaces a dispatch has: the compiler's, ours, or some of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from ..dispatch import Dispatch
from ..space import Space
from . import emitted_spaces, mma, own_spaces


def gpu_spaces(
    dispatch: Dispatch, extras: Mapping[str, tuple[int, ...]]
) -> Mapping[str, Callable[[], Space]]:
    """For each pipeline that can lower the dispatch, a function that builds its Space.

    Args:
        extras: knobs that the compiler pins and that are set free, with their values.
    """
    problem, target = dispatch.problem, dispatch.target
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
