"""Predictors: training data, training, explanations and provenance."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .cases import (
        ENDINGS,
        Case,
        Files,
        device_name,
        drop_killed,
        paths_of,
        read_cases,
        training_frame,
    )
    from .explanations import CandidateSelection, Contribution, Explanation, Score, explain
    from .parameters import parse_parameters
    from .pool import CandidatePool
    from .predictors import TrainResult, check_replaceable, train
    from .provenance import (
        cases_digest,
        describe_training,
        device_warning,
        problems_trained_on,
        training_values,
    )
else:
    __getattr__ = exports(__name__)

__all__ = [
    "ENDINGS",
    "CandidatePool",
    "CandidateSelection",
    "Case",
    "Contribution",
    "Explanation",
    "Files",
    "Score",
    "TrainResult",
    "cases_digest",
    "check_replaceable",
    "describe_training",
    "device_name",
    "device_warning",
    "drop_killed",
    "explain",
    "parse_parameters",
    "paths_of",
    "problems_trained_on",
    "read_cases",
    "train",
    "training_frame",
    "training_values",
]
