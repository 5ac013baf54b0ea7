"""How good orders are on what they were not learned from."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .api import EvaluationInterrupted, ReportNotWritten, evaluate
    from .contenders import Contender, find_contenders, usual_rankers
    from .cross_validation import cross_validate
    from .holdout import PROBLEM
    from .metrics import is_near_optimal
    from .report import Report, track_report, write_report
    from .summary import summarise
else:
    __getattr__ = exports(__name__)

__all__ = [
    "PROBLEM",
    "Contender",
    "EvaluationInterrupted",
    "Report",
    "ReportNotWritten",
    "cross_validate",
    "evaluate",
    "find_contenders",
    "is_near_optimal",
    "summarise",
    "track_report",
    "usual_rankers",
    "write_report",
]
