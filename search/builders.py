"""Which spaces a dispatch has: one per codegen pipeline that can lower it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from ..core import InputError
from . import cpu, gpu, gpu_mma, gpu_own
from .gpu_columns import EXTRAS, ONLY_ROCM
from .problem import Target
from .space import Space

if TYPE_CHECKING:
    from collections.abc import Callable

    from .dispatch import Dispatch

Extras = Mapping[str, tuple[int, ...]]


def build_spaces(
    dispatch: Dispatch, pipeline: str | None = None, extras: Extras | None = None
) -> tuple[Space, ...]:
    """The spaces of a dispatch, or the one of the given pipeline.

    Args:
        extras: knobs to set free that the compiler pins on GPUs, with their values; see
            `gpu_columns.EXTRAS`.

    Raises:
        InputError: the pipeline cannot lower the problem, or an extra knob does nothing.
    """
    check_extras(dispatch.target, extras or {})
    builders = _builders(dispatch, extras or {})
    if pipeline is not None and pipeline not in builders:
        raise InputError(
            f"pipeline {pipeline!r} cannot lower this {dispatch.problem.kind}",
            f"use one of: {', '.join(builders)}" if builders else "nothing can lower it",
        )
    return tuple(build() for name, build in builders.items() if pipeline in (None, name))


def check_extras(target: Target, extras: Extras) -> None:
    """Refuses knobs that do not exist or that do nothing on the target."""
    for name, values in extras.items():
        if name not in EXTRAS:
            raise InputError(f"no extra knob {name!r}", f"there are: {', '.join(EXTRAS)}")
        if target.gpu is None:
            raise InputError(f"extra knob {name!r} is one of GPUs, the target is {target.arch}")
        if name in ONLY_ROCM and target.backend != "rocm":
            raise InputError(f"extra knob {name!r} does nothing on {target.backend}")
        if unknown := set(values) - set(EXTRAS[name]):
            raise InputError(
                f"extra knob {name!r} cannot be {min(unknown)}",
                f"it takes: {', '.join(map(str, EXTRAS[name]))}",
            )


def _builders(dispatch: Dispatch, extras: Extras) -> Mapping[str, Callable[[], Space]]:
    """By pipeline: what makes its space."""
    problem, target = dispatch.problem, dispatch.target
    if target.gpu is None:
        return {p: partial(cpu.build, problem, target, p) for p in cpu.pipelines(problem)}
    own = {
        p: partial(gpu_own.build, problem, target, p, extras)
        for p in gpu_own.pipelines(problem, target)
    }
    emitted = {
        p: partial(gpu.build, problem, target, p, e, extras)
        for p, e in gpu.pipelines(dispatch.emitted).items()
    }
    # Ours pads loops that do not divide, which the compiler's cannot (see `gpu`).
    if own and emitted and gpu_mma.is_ragged(problem, target):
        return {**emitted, **own}
    return emitted or own
