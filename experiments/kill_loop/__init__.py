"""Commands that are ended at random moments, over and over, and go on: nothing is lost or left.

    python -m frontrunner.experiments.kill_loop --rounds 50 --seed S [--commands tune,record]

| module | does |
| --- | --- |
| `tasks` | says which commands, how they go on, and what has to be true of their files |
| `ending` | starts a command, ends it, and finds what is left of it |
| `rounds` | does a round: several ends, then the one that it comes to by itself |
"""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .ending import INT, KILL, TERM, CommandProcess, ExitResult, left_over, marked, wait_for
    from .rounds import is_temporary
    from .tasks import check_outcomes, check_run, lost, read_logs
else:
    __getattr__ = exports(__name__)

__all__ = [
    "INT",
    "KILL",
    "TERM",
    "CommandProcess",
    "ExitResult",
    "check_outcomes",
    "check_run",
    "is_temporary",
    "left_over",
    "lost",
    "marked",
    "read_logs",
    "wait_for",
]
