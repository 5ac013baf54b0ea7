"""Tuning of whole models: which dispatches matter, and which specs prove themselves there."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .api import resume_model, tune_model
    from .export import ExportedNetwork, export_module, export_transformers
    from .options import NetworkOptions
    from .result import NetworkResult
    from .runs import resume_network_run, start_network_run
    from .summary import COLUMNS
    from .variants import AUTO
else:
    __getattr__ = exports(__name__)

__all__ = [
    "AUTO",
    "COLUMNS",
    "ExportedNetwork",
    "NetworkOptions",
    "NetworkResult",
    "export_module",
    "export_transformers",
    "resume_model",
    "resume_network_run",
    "start_network_run",
    "tune_model",
]
