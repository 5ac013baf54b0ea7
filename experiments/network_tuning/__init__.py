"""Tuning of whole models: which dispatches matter, and which specs prove themselves there."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .api import resume_model, tune_model
    from .export import Exported, export_module, export_transformers
    from .options import ModelOptions
    from .result import ModelResult
    from .runs import resume_model_run, start_model_run
    from .summary import COLUMNS
else:
    __getattr__ = exports(__name__)

__all__ = [
    "COLUMNS",
    "Exported",
    "ModelOptions",
    "ModelResult",
    "export_module",
    "export_transformers",
    "resume_model",
    "resume_model_run",
    "start_model_run",
    "tune_model",
]
