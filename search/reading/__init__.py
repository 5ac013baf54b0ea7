"""Reads what users bring: dispatches, benchmark files, models; the compiler in children."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .dispatches import READER, read_dispatch, with_emitted
    from .models import (
        READ_TIMEOUT,
        Argument,
        Function,
        Model,
        ModelDispatch,
        named_after,
        read_model,
    )
else:
    __getattr__ = exports(__name__)

__all__ = [
    "READER",
    "READ_TIMEOUT",
    "Argument",
    "Function",
    "Model",
    "ModelDispatch",
    "named_after",
    "read_dispatch",
    "read_model",
    "with_emitted",
]
