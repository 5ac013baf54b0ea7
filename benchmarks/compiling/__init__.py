"""Compiles candidates in worker processes, and reports what the compiler got wrong."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .compiler import CompilePool, Compiler, Job, checked_default, unless_killed
    from .failures import FailureReport, keep_log
    from .reproducer import SCRIPT, Reproducer, write_crash
    from .unit import Unit, call_of
else:
    __getattr__ = exports(__name__)

__all__ = [
    "SCRIPT",
    "CompilePool",
    "Compiler",
    "FailureReport",
    "Job",
    "Reproducer",
    "Unit",
    "call_of",
    "checked_default",
    "keep_log",
    "unless_killed",
    "write_crash",
]
