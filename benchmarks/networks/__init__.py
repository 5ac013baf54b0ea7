"""Whole models: their inputs and weights, running, profiling and comparing them."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .inputs import prepare_inputs
    from .kernel import Subject
    from .profiling import Share, profile
    from .runner import PATIENCE, Gain, ModelFailed, ModelRunner
    from .weights import Archives, check_archives
else:
    __getattr__ = exports(__name__)

__all__ = [
    "PATIENCE",
    "Archives",
    "Gain",
    "ModelFailed",
    "ModelRunner",
    "Share",
    "Subject",
    "check_archives",
    "prepare_inputs",
    "profile",
]
