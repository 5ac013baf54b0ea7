"""Whole models: their inputs and weights, running, profiling and comparing them."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .inputs import prepare_inputs
    from .kernel import Subject
    from .profiling import Share, profile
    from .runner import Gain, ModelFailed, ModelRunner
    from .weights import Archives, check_archives
else:
    __getattr__ = exports(__name__)

__all__ = [
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
