"""Tuning of whole models: which dispatches matter, and which specs prove themselves there."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .api import resume_model, tune_model
    from .options import NetworkOptions
    from .result import NetworkResult
    from .runs import resume_network_run, start_network_run
    from .summary import COLUMNS
else:
    __getattr__ = exports(__name__)

__all__ = [
    "COLUMNS",
    "NetworkOptions",
    "NetworkResult",
    "resume_model",
    "resume_network_run",
    "start_network_run",
    "tune_model",
]
