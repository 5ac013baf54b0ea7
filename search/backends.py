"""Which spaces a dispatch has: one per codegen pipeline that can lower it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..core import InputError
from .cpu import cpu_spaces
from .gpu import EXTRAS, ONLY_ROCM, gpu_spaces
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
            `frontrunner.search.gpu.EXTRAS`.

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
    if dispatch.target.gpu is None:
        return cpu_spaces(dispatch)
    return gpu_spaces(dispatch, extras)
