"""LLVM's code for CPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..backend import Backend, Extras, Spaces

if TYPE_CHECKING:
    from ..dispatch import Dispatch
    from ..problem import Target


def _describe(attribute: Any, name: str) -> Target:
    from ..cpu import cpu_target

    return cpu_target(attribute, name)


def _spaces(dispatch: Dispatch, extras: Extras) -> Spaces:
    from ..cpu import cpu_spaces

    return cpu_spaces(dispatch)


BACKENDS = (
    Backend(
        name="llvm-cpu",
        names="",
        examples="'host' or a CPU that LLVM knows, such as znver4",
        unknown=("is not a recognized processor",),
        flags=(
            "--iree-hal-target-device=local",
            "--iree-hal-local-target-device-backends=llvm-cpu",
        ),
        target_flags=lambda name: (f"--iree-llvmcpu-target-cpu={name}",),
        form=r"embedded-elf-\w+",
        describe=_describe,
        spaces=_spaces,
        features="cpu",
        drivers=("local-task", "local-sync"),
    ),
)
