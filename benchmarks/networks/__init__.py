"""Whole models: their inputs and weights, running, profiling and comparing them."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .inputs import prepare_inputs
    from .kernel import NetworkSetup
    from .profiling import DispatchTime, profile, profile_runs
    from .runner import MakeChild, NetworkFailed, NetworkRunner, Speedup
    from .weights import Archives, check_archives
else:
    __getattr__ = exports(__name__)

__all__ = [
    "Archives",
    "DispatchTime",
    "MakeChild",
    "NetworkFailed",
    "NetworkRunner",
    "NetworkSetup",
    "Speedup",
    "check_archives",
    "prepare_inputs",
    "profile",
    "profile_runs",
]
