"""How long a model may take to compile."""

from __future__ import annotations

# By default, of which nothing is known yet.
COMPILE_TIMEOUT, LEAST_TIMEOUT = 1800.0, 30.0
# A model may take so many times as long to compile as by default: candidates unroll more than the
# compiler does, so that 3 to 4 times (RegNet, two at a time) is usual.
TIMEOUT_RATIO = 8.0


def compile_limit(default_s: float, ratio: float = TIMEOUT_RATIO) -> float:
    """Seconds after which a variant of the model hangs, given what it takes by default."""
    return max(LEAST_TIMEOUT, ratio * default_s)
