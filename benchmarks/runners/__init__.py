"""Runners turn candidates into outcomes: on this machine, without measuring, from a recording.

What a runner has to do is said by `benchmarks.measuring.Runner`; the one of bundles lies with them.
"""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .compile_only import CompileRunner
    from .head_start import HeadStart
    from .local import ExecutableRunner, LocalRunner, open_local_runner
    from .queue_compiler import QueueCompiler, compile_queue, forget_slow
    from .replay import ReplayRunner, StreamingReplayRunner
else:
    __getattr__ = exports(__name__)

__all__ = [
    "CompileRunner",
    "ExecutableRunner",
    "HeadStart",
    "LocalRunner",
    "QueueCompiler",
    "ReplayRunner",
    "StreamingReplayRunner",
    "compile_queue",
    "forget_slow",
    "open_local_runner",
]
