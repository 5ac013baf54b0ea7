"""Verifies and times executables on devices, and decides between them.

Python 3.10, NumPy and the IREE runtime are all it needs: bundles carry it.
"""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .budget import Budget, RunProgress, minutes_to_seconds
    from .checks import (
        check_counts,
        finals_error,
        outcome_error,
        repeat_error,
        speedup_error,
        winner_error,
    )
    from .constants import (
        BATCH_PER_DEVICE,
        BATCH_PER_JOB,
        DEFAULT_BUDGET,
        DISPATCH_SECONDS,
        DROP_ROUNDS,
        MIN_RUNS,
        NEAR_OPTIMAL,
        NEAR_ROUNDS,
        PEAK_SECONDS,
        POOL_SIZE,
        PROFILE_ROUNDS,
        PROFILE_SECONDS,
        RACE_PATIENCE,
        RACE_ROUNDS,
        RECORD_ROUNDS,
        RECORD_SECONDS,
        REMEASURE_RATIO,
        SCREEN_SECONDS,
        TURN_SECONDS,
    )
    from .device import (
        DOCTOR_HINT,
        KEEP_MEMORY,
        TIMING_QUANTILE,
        Device,
        RunFailed,
        check_drivers,
        check_uris,
        fingerprint,
        shares_cores,
        time_limit,
    )
    from .device_group import DeviceGroup
    from .estimate import IQR_PER_DEVIATION, MEDIAN_ERROR_RATIO, Estimate, Repeat
    from .finals import (
        FinalistResult,
        Finals,
        bootstrap_interval,
        choose_finalists,
        choose_winner,
    )
    from .kernel import LoadedExecutable, MeasureRequest, copy_to_device
    from .loop import (
        BudgetStopping,
        CandidateOrder,
        MemoryLog,
        OutcomeLog,
        QueueOrder,
        StoppingRule,
        search,
    )
    from .outcome import (
        BASELINE,
        COMPILE_FAILED,
        CRASHED,
        KILLED,
        NOT_APPLIED,
        OK,
        OUTCOME_KINDS,
        TIMEOUT,
        WRONG_RESULT,
        CompileOutcome,
        Outcome,
        executable_digest,
        has_digest,
        parse_outcome,
    )
    from .rounds import estimate_times
    from .runner import MeasuringRunner, Runner
    from .timing import Timing, time_runs
else:
    __getattr__ = exports(__name__)

__all__ = [
    "BASELINE",
    "BATCH_PER_DEVICE",
    "BATCH_PER_JOB",
    "COMPILE_FAILED",
    "CRASHED",
    "DEFAULT_BUDGET",
    "DISPATCH_SECONDS",
    "DOCTOR_HINT",
    "DROP_ROUNDS",
    "IQR_PER_DEVIATION",
    "KEEP_MEMORY",
    "KILLED",
    "MEDIAN_ERROR_RATIO",
    "MIN_RUNS",
    "NEAR_OPTIMAL",
    "NEAR_ROUNDS",
    "NOT_APPLIED",
    "OK",
    "OUTCOME_KINDS",
    "PEAK_SECONDS",
    "POOL_SIZE",
    "PROFILE_ROUNDS",
    "PROFILE_SECONDS",
    "RACE_PATIENCE",
    "RACE_ROUNDS",
    "RECORD_ROUNDS",
    "RECORD_SECONDS",
    "REMEASURE_RATIO",
    "SCREEN_SECONDS",
    "TIMEOUT",
    "TIMING_QUANTILE",
    "TURN_SECONDS",
    "WRONG_RESULT",
    "Budget",
    "BudgetStopping",
    "CandidateOrder",
    "CompileOutcome",
    "Device",
    "DeviceGroup",
    "Estimate",
    "FinalistResult",
    "Finals",
    "LoadedExecutable",
    "MeasureRequest",
    "MeasuringRunner",
    "MemoryLog",
    "Outcome",
    "OutcomeLog",
    "QueueOrder",
    "Repeat",
    "RunFailed",
    "RunProgress",
    "Runner",
    "StoppingRule",
    "Timing",
    "bootstrap_interval",
    "check_counts",
    "check_drivers",
    "check_uris",
    "choose_finalists",
    "choose_winner",
    "copy_to_device",
    "estimate_times",
    "executable_digest",
    "finals_error",
    "fingerprint",
    "has_digest",
    "minutes_to_seconds",
    "outcome_error",
    "parse_outcome",
    "repeat_error",
    "search",
    "shares_cores",
    "speedup_error",
    "time_limit",
    "time_runs",
    "winner_error",
]
