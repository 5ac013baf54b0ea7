"""CPU spaces: what can be chosen for LLVM's CPU code, and how a choice is rendered."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .spaces import cpu_spaces
    from .target import cpu_target, host_caches
else:
    __getattr__ = exports(__name__)

__all__ = ["cpu_spaces", "cpu_target", "host_caches"]
