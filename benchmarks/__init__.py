"""Running candidates: compile, verify, measure."""

from typing import TYPE_CHECKING

from ..search.lazy import exports

if TYPE_CHECKING:
    from .compiling import Compiled, Compiler
    from .device import Device, KernelFailed, fingerprint
    from .outcome import Outcome
    from .runner import Candidate, LocalRunner, Runner, local_runner

__getattr__ = exports(
    __name__,
    {
        "compiling": ("Compiled", "Compiler"),
        "device": ("Device", "KernelFailed", "fingerprint"),
        "outcome": ("Outcome",),
        "runner": ("Candidate", "LocalRunner", "Runner", "local_runner"),
    },
)

__all__ = [
    "Candidate",
    "Compiled",
    "Compiler",
    "Device",
    "KernelFailed",
    "LocalRunner",
    "Outcome",
    "Runner",
    "fingerprint",
    "local_runner",
]
