"""A predictor for this machine, from recordings of small dispatches."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .api import calibrate
    from .result import CalibrationResult
else:
    __getattr__ = exports(__name__)

__all__ = ["CalibrationResult", "calibrate"]
