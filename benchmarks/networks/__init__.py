"""Whole models: their inputs and weights, running, profiling and comparing them."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .dims import dims_beside, read_dims, sized_inputs, unnamed_dim
    from .inputs import FunctionCall, check_calls, prepare_call, shape_of
    from .kernel import NetworkSetup
    from .limits import COMPILE_TIMEOUT, TIMEOUT_RATIO, compile_limit
    from .profiling import (
        DispatchTime,
        durations_ns,
        fastest_times,
        profile,
        profile_events,
        profile_runs,
    )
    from .runner import INPUTS_HINT, MakeChild, NetworkFailed, NetworkRunner, Speedup
    from .timed_alone import time_alone
    from .weights import Archives, check_archives
else:
    __getattr__ = exports(__name__)

__all__ = [
    "COMPILE_TIMEOUT",
    "INPUTS_HINT",
    "TIMEOUT_RATIO",
    "Archives",
    "DispatchTime",
    "FunctionCall",
    "MakeChild",
    "NetworkFailed",
    "NetworkRunner",
    "NetworkSetup",
    "Speedup",
    "check_archives",
    "check_calls",
    "compile_limit",
    "dims_beside",
    "durations_ns",
    "fastest_times",
    "prepare_call",
    "profile",
    "profile_events",
    "profile_runs",
    "read_dims",
    "shape_of",
    "sized_inputs",
    "time_alone",
    "unnamed_dim",
]
