"""Compile flags by a target's name. They are made here and nowhere else: none is read from a file.

The compiler does what its flags say, such as run a program for a linker, or write files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..core import UnknownTargetError

_KNOWN = (
    "use 'host', a CPU that LLVM knows, such as znver4, or a GPU that IREE knows, "
    "such as gfx942, mi300x, gfx1100, sm_80 or sm_89"
)
_NAME = re.compile(r"[A-Za-z0-9_.+-]{1,64}")
_ROCM = re.compile(r"gfx\d\w*|mi\d\w*|rx\d\w*|r9700|v710|w7\d00|[cr]dna\d|phoenix|strix-\w+")
_CUDA = re.compile(r"sm_\w+|rtx\w+|a100|h100|ada|ampere|turing|volta|pascal")


def target_flags(name: str) -> tuple[str, ...]:
    """Compile flags for a target: `host`, a CPU that LLVM knows, or a GPU that IREE knows.

    Raises:
        UnknownTargetError: the name is not one.
    """
    if not _NAME.fullmatch(name):
        raise unknown_target(name)
    backend = gpu_backend(name)
    if backend is not None:
        device = "hip" if backend == "rocm" else backend
        return (f"--iree-hal-target-device={device}", f"--iree-{backend}-target={name}")
    return (
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        f"--iree-llvmcpu-target-cpu={name}",
    )


def target_of_flags(flags: Sequence[str]) -> str:
    """The name of the target that has these flags, which older files hold in its place.

    Raises:
        ValueError: they are no target's.
    """
    name = str(flags[-1]).partition("=")[2] if flags else ""
    if not _NAME.fullmatch(name) or target_flags(name) != tuple(flags):
        raise ValueError(f"its flags are those of no target: {' '.join(map(str, flags))[:200]!r}")
    return name


def gpu_backend(name: str) -> str | None:
    """The backend for a GPU's name or SKU; None where the name is not a GPU's."""
    if _ROCM.fullmatch(name):
        return "rocm"
    return "cuda" if _CUDA.fullmatch(name) else None


def backend_of(name: str) -> str:
    """The backend for a target's name."""
    return gpu_backend(name) or "llvm-cpu"


def unknown_target(name: str) -> UnknownTargetError:
    return UnknownTargetError(f"unknown target {name!r}", _KNOWN)
