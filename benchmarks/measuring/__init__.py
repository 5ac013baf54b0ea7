"""Verifies and times executables on devices, and decides between them.

Python 3.10, NumPy and the IREE runtime are all it needs: bundles carry it.
"""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .budget import Budget, RunProgress, minutes_to_seconds
    from .call import Call
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
    from .formula import Formula
    from .inputs import (
        NUMPY_TYPES,
        Array,
        check_memory,
        from_bf16,
        make_input,
        make_inputs,
        to_bf16,
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
    from .tolerance import ATTENTION_ROUNDINGS, Tolerance, as_float, relative_error
    from .verification import Verification
else:
    __getattr__ = exports(__name__)

__all__ = [
    "ATTENTION_ROUNDINGS",
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
    "NUMPY_TYPES",
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
    "Array",
    "Budget",
    "BudgetStopping",
    "Call",
    "CandidateOrder",
    "CompileOutcome",
    "Device",
    "DeviceGroup",
    "Estimate",
    "FinalistResult",
    "Finals",
    "Formula",
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
    "Tolerance",
    "Verification",
    "as_float",
    "bootstrap_interval",
    "check_counts",
    "check_drivers",
    "check_memory",
    "check_uris",
    "choose_finalists",
    "choose_winner",
    "copy_to_device",
    "estimate_times",
    "executable_digest",
    "finals_error",
    "fingerprint",
    "from_bf16",
    "has_digest",
    "make_input",
    "make_inputs",
    "minutes_to_seconds",
    "outcome_error",
    "parse_outcome",
    "relative_error",
    "repeat_error",
    "search",
    "shares_cores",
    "speedup_error",
    "time_limit",
    "time_runs",
    "to_bf16",
    "winner_error",
]
