"""Running candidates: compile, verify, measure."""

from typing import TYPE_CHECKING

from ..core.lazy import exports

if TYPE_CHECKING:
    from .budget import Budget
    from .compiling import Compiler
    from .device import Device, RunFailed, fingerprint
    from .outcome import Compiled, Outcome
    from .runner import Candidate, LocalRunner, Runner, local_runner
else:
    __getattr__ = exports(__name__)

__all__ = [
    "Budget",
    "Candidate",
    "Compiled",
    "Compiler",
    "Device",
    "LocalRunner",
    "Outcome",
    "RunFailed",
    "Runner",
    "fingerprint",
    "local_runner",
]
