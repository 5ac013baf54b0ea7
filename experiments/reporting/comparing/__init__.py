"""Pages about what compares orders: evaluations and leaderboards, from their folders."""

from typing import TYPE_CHECKING

from ....core.lazy import exports

if TYPE_CHECKING:
    from .evaluation import evaluation_article
    from .leaderboard import leaderboard_article
else:
    __getattr__ = exports(__name__)

__all__ = ["evaluation_article", "leaderboard_article"]
