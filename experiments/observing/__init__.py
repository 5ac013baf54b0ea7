"""What is shown of a run while it works, and what MLflow keeps of it."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .displays import make_notify, make_progress, progress_bar
    from .mlflow_store import TrackingStore, find_store
    from .progress import Observer
    from .registry import check_model_name, is_registered, local_ranker
    from .serving import served_ui
    from .tracking import Tracker, with_page
else:
    __getattr__ = exports(__name__)

__all__ = [
    "Observer",
    "Tracker",
    "TrackingStore",
    "check_model_name",
    "find_store",
    "is_registered",
    "local_ranker",
    "make_notify",
    "make_progress",
    "progress_bar",
    "served_ui",
    "with_page",
]
