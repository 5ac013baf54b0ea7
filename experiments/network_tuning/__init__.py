"""Tuning of whole models: which dispatches matter, and which specs prove themselves there."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .api import resume_model, tune_model
    from .planning import NetworkFolder, NetworkOptions, Plan
    from .queued import InModelOutcome, read_tried
    from .result import NetworkResult
    from .runs import resume_network_run, start_network_run
    from .summary import BUILD_HINT, COLUMNS, build_command
else:
    __getattr__ = exports(__name__)

__all__ = [
    "BUILD_HINT",
    "COLUMNS",
    "InModelOutcome",
    "NetworkFolder",
    "NetworkOptions",
    "NetworkResult",
    "Plan",
    "build_command",
    "read_tried",
    "resume_model",
    "resume_network_run",
    "start_network_run",
    "tune_model",
]
