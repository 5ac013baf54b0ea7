"""What is shown of a run while it works, and what MLflow keeps of it."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .progress import Observer, make_notify, make_progress, progress_bar
    from .tracking import Tracker, find_store
else:
    __getattr__ = exports(__name__)

__all__ = [
    "Observer",
    "Tracker",
    "find_store",
    "make_notify",
    "make_progress",
    "progress_bar",
]
