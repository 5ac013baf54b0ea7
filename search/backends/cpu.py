"""LLVM's code for CPUs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..backend import Backend, Extras, Spaces

if TYPE_CHECKING:
    from ..dispatch import Dispatch
    from ..problem import Target


# The names that LLVM has for 64-bit Arm, wherever one compiles: its default is this machine's kind.
_AARCH64 = re.compile(
    r"aarch64|(apple|cortex-[ax]|neoverse|ampere|thunderx|oryon)[\w-]*|a64fx|grace"
)


def _flags(name: str) -> tuple[str, ...]:
    if not _AARCH64.fullmatch(name):
        return (f"--iree-llvmcpu-target-cpu={name}",)
    cpu = "generic" if name == "aarch64" else name
    return ("--iree-llvmcpu-target-triple=aarch64-linux-gnu", f"--iree-llvmcpu-target-cpu={cpu}")


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
        examples="'host' or a CPU that LLVM knows, such as znver4 or neoverse-n1",
        unknown=("is not a recognized processor",),
        flags=(
            "--iree-hal-target-device=local",
            "--iree-hal-local-target-device-backends=llvm-cpu",
        ),
        target_flags=_flags,
        form=r"embedded-elf-\w+",
        describe=_describe,
        spaces=_spaces,
        features="cpu",
        drivers=("local-task", "local-sync"),
    ),
)
