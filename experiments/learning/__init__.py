"""Predictors: training data, training, explanations and provenance."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .cases import Case, drop_killed, read_cases, training_frame
    from .explanations import (
        CandidateSelection,
        Contribution,
        Explanation,
        Score,
        explain,
        scores_of,
    )
    from .files import ENDINGS, TABLE_ENDINGS, Files, paths_of, recording_files
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
    from .store import (
        SavedPredictor,
        note_tried,
        predictor_for,
        predictors_folder,
        saved_predictors,
    )
else:
    __getattr__ = exports(__name__)

__all__ = [
    "ENDINGS",
    "TABLE_ENDINGS",
    "CandidatePool",
    "CandidateSelection",
    "Case",
    "Contribution",
    "Explanation",
    "Files",
    "SavedPredictor",
    "Score",
    "TrainResult",
    "cases_digest",
    "check_replaceable",
    "describe_training",
    "device_warning",
    "drop_killed",
    "explain",
    "note_tried",
    "parse_parameters",
    "paths_of",
    "predictor_for",
    "predictors_folder",
    "problems_trained_on",
    "read_cases",
    "recording_files",
    "saved_predictors",
    "scores_of",
    "train",
    "training_frame",
    "training_values",
]
