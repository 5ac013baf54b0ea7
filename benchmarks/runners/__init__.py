"""Runners turn candidates into outcomes."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .compile_only import CompileRunner
    from .local import Candidate, LocalRunner, Runner, executable_name, local_runner
else:
    __getattr__ = exports(__name__)

__all__ = ["Candidate", "CompileRunner", "LocalRunner", "Runner", "executable_name", "local_runner"]
