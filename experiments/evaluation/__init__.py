"""How good orders are on what they were not learned from."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .api import EvaluationInterrupted, ReportNotWritten, evaluate
    from .contenders import SHUFFLE, Contender, find_contenders, usual_rankers
    from .cross_validation import cross_validate
    from .finished import LIBRARIES, FinishedParts
    from .holdout import DEVICE_OR_PROBLEM, PROBLEM, Fold, make_folds
    from .metrics import CaseReference, is_near_optimal, iterations_to
    from .notes import contender_notes, sample_notes
    from .report import Report, track_report, write_report
    from .resampling import Bootstrap, paired_ratio
    from .summary import summarise
else:
    __getattr__ = exports(__name__)

__all__ = [
    "DEVICE_OR_PROBLEM",
    "LIBRARIES",
    "PROBLEM",
    "SHUFFLE",
    "Bootstrap",
    "CaseReference",
    "Contender",
    "EvaluationInterrupted",
    "FinishedParts",
    "Fold",
    "Report",
    "ReportNotWritten",
    "contender_notes",
    "cross_validate",
    "evaluate",
    "find_contenders",
    "is_near_optimal",
    "iterations_to",
    "make_folds",
    "paired_ratio",
    "sample_notes",
    "summarise",
    "track_report",
    "usual_rankers",
    "write_report",
]
