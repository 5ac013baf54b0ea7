"""Compiles candidates in worker processes, and reports what the compiler got wrong."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .assembling import CannotSplit, ModelAssembler
    from .compiler import (
        COMPILER,
        BuildJob,
        CompileJob,
        CompilePool,
        Compiler,
        raise_if_killed,
        require_default,
    )
    from .failures import (
        FailureReport,
        check_report_folder,
        config_magnitude,
        normalise,
        save_log,
    )
    from .reproducer import SCRIPT, Reproducer, write_crash, write_emission_crash
    from .runnable_module import RunnableModule, call_of
    from .worker import BuildRequest, CompileReply, CompileRequest
else:
    __getattr__ = exports(__name__)

__all__ = [
    "COMPILER",
    "SCRIPT",
    "BuildJob",
    "BuildRequest",
    "CannotSplit",
    "CompileJob",
    "CompilePool",
    "CompileReply",
    "CompileRequest",
    "Compiler",
    "FailureReport",
    "ModelAssembler",
    "Reproducer",
    "RunnableModule",
    "call_of",
    "check_report_folder",
    "config_magnitude",
    "normalise",
    "raise_if_killed",
    "require_default",
    "save_log",
    "write_crash",
    "write_emission_crash",
]
