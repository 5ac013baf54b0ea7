"""Our orders and other people's searches on a folder of anybody's data, as one table."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .api import BoardNotWritten, leaderboard
    from .table import Leaderboard
else:
    __getattr__ = exports(__name__)

__all__ = ["BoardNotWritten", "Leaderboard", "leaderboard"]
