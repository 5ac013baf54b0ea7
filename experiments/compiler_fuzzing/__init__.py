"""Looks for failures of the compiler: candidates at random, a small reproducer of each way to fail.

Nothing is measured for its speed, and nothing is learned. (What breaks frontrunner itself, files of
others, is looked for by `experiments.fuzz`.)
"""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .api import fuzz
    from .result import FoundFailure, FuzzResult, TriedDispatch
else:
    __getattr__ = exports(__name__)

__all__ = ["FoundFailure", "FuzzResult", "TriedDispatch", "fuzz"]
