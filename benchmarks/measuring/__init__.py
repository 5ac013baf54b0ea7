"""Verifies and times executables on devices, and decides between them.

Python 3.10, NumPy and the IREE runtime are all it needs: bundles carry it.
"""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .budget import Budget, Course, minutes_to_seconds
    from .call import Call
    from .checks import (
        check_counts,
        wrong_finals,
        wrong_outcome,
        wrong_repeat,
        wrong_speedup,
        wrong_winner,
    )
    from .constants import (
        BATCH_PER_DEVICE,
        BATCH_PER_JOB,
        DEFAULT_BUDGET,
        DISPATCH_SECONDS,
        DROP_ROUNDS,
        LEAST,
        NEAR,
        NEAR_ROUNDS,
        PEAK_SECONDS,
        POOL,
        PROFILE_ROUNDS,
        PROFILE_SECONDS,
        RACE_PATIENCE,
        RACE_ROUNDS,
        RECORD_ROUNDS,
        RECORD_SECONDS,
        SCREEN_SECONDS,
        TURN_SECONDS,
        WITHIN_REACH,
    )
    from .device import (
        DOCTOR,
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
    from .estimate import MEDIAN, QUARTILES, Estimate, Repeat
    from .finals import Finals, Standing, decide, interval
    from .inputs import (
        NUMPY,
        Array,
        Tolerance,
        check_memory,
        from_bf16,
        make_input,
        make_inputs,
        to_bf16,
    )
    from .kernel import Loaded, Measure, on_device
    from .loop import BudgetLimits, Limits, Log, Order, Outcomes, QueueOrder, search
    from .outcome import (
        BASELINE,
        COMPILE_FAILED,
        CRASHED,
        KILLED,
        KINDS,
        NOT_APPLIED,
        OK,
        TIMEOUT,
        WRONG_RESULT,
        Compiled,
        Outcome,
        digest,
        is_there,
        read_record,
    )
    from .rounds import standings
    from .runner import MeasuringRunner, Runner
    from .timing import Timing, sample
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
    "DOCTOR",
    "DROP_ROUNDS",
    "KEEP_MEMORY",
    "KILLED",
    "KINDS",
    "LEAST",
    "MEDIAN",
    "NEAR",
    "NEAR_ROUNDS",
    "NOT_APPLIED",
    "NUMPY",
    "OK",
    "PEAK_SECONDS",
    "POOL",
    "PROFILE_ROUNDS",
    "PROFILE_SECONDS",
    "QUARTILES",
    "RACE_PATIENCE",
    "RACE_ROUNDS",
    "RECORD_ROUNDS",
    "RECORD_SECONDS",
    "SCREEN_SECONDS",
    "TIMEOUT",
    "TIMING_QUANTILE",
    "TURN_SECONDS",
    "WITHIN_REACH",
    "WRONG_RESULT",
    "Array",
    "Budget",
    "BudgetLimits",
    "Call",
    "Compiled",
    "Course",
    "Device",
    "DeviceGroup",
    "Estimate",
    "Finals",
    "Limits",
    "Loaded",
    "Log",
    "Measure",
    "MeasuringRunner",
    "Order",
    "Outcome",
    "Outcomes",
    "QueueOrder",
    "Repeat",
    "RunFailed",
    "Runner",
    "Standing",
    "Timing",
    "Tolerance",
    "check_counts",
    "check_drivers",
    "check_memory",
    "check_uris",
    "decide",
    "digest",
    "fingerprint",
    "from_bf16",
    "interval",
    "is_there",
    "make_input",
    "make_inputs",
    "minutes_to_seconds",
    "on_device",
    "read_record",
    "sample",
    "search",
    "shares_cores",
    "standings",
    "time_limit",
    "to_bf16",
    "wrong_finals",
    "wrong_outcome",
    "wrong_repeat",
    "wrong_speedup",
    "wrong_winner",
]
