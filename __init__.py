"""frontrunner finds fast configurations for IREE dispatches in few measurements.

    >>> import frontrunner
    >>> result = frontrunner.tune("matmul.mlir", budget=64)
    >>> result.speedup, result.spec

Each function does what the command of its name does, and takes the same options; results say so in
words, and have the figures as attributes. Nothing heavy is imported before one is used.
"""

from typing import TYPE_CHECKING

from .core.lazy import exports

if TYPE_CHECKING:
    from .experiments.bundling import record
    from .experiments.calibrating import calibrate
    from .experiments.compiler_fuzzing import fuzz
    from .experiments.dataset import read_recording
    from .experiments.evaluation import evaluate
    from .experiments.insights import insights
    from .experiments.leaderboard import leaderboard
    from .experiments.learning import train
    from .experiments.network_tuning import resume_model, tune_model
    from .experiments.profiling import generate, profile
    from .experiments.reporting import report
    from .experiments.tuning import Stage, resume, tune
else:
    __getattr__ = exports(__name__)

__version__ = "0.1.0"

__all__ = [
    "Stage",
    "__version__",
    "calibrate",
    "evaluate",
    "fuzz",
    "generate",
    "insights",
    "leaderboard",
    "profile",
    "read_recording",
    "record",
    "report",
    "resume",
    "resume_model",
    "train",
    "tune",
    "tune_model",
]
