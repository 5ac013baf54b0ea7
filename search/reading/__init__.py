"""Reads what users bring: dispatches, benchmark files, models; the compiler in children."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .dispatches import (
        READER,
        emit_constraints,
        functions_of,
        read_dispatch,
        read_dispatches,
    )
    from .networks import (
        NETWORK_READER,
        NETWORK_TIMEOUT,
        Argument,
        Function,
        InputShapes,
        Network,
        NetworkDispatch,
        read_network,
        short_file_names,
    )
else:
    __getattr__ = exports(__name__)

__all__ = [
    "NETWORK_READER",
    "NETWORK_TIMEOUT",
    "READER",
    "Argument",
    "Function",
    "InputShapes",
    "Network",
    "NetworkDispatch",
    "emit_constraints",
    "functions_of",
    "read_dispatch",
    "read_dispatches",
    "read_network",
    "short_file_names",
]
