"""The kinds of operations, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .attention import Attention
from .conv import Conv
from .conv3d import Conv3d
from .matmul import Matmul, Matvec
from .operation import Operation
from .types import Types

OPERATIONS: dict[str, type[Operation]] = {
    kind.__name__.lower(): kind for kind in (Matmul, Matvec, Conv, Conv3d, Attention)
}


def from_dict(data: Mapping[str, Any]) -> Operation:
    """The inverse of `Operation.to_dict`, also after a round trip through JSON (lists for tuples).

    Raises:
        KeyError, TypeError: it is something else.
        InputError: its sizes or types cannot be.
    """
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
    kind = OPERATIONS[fields.pop("operation")]
    if "types" in fields:
        fields["types"] = Types(**fields["types"])
    return kind(**fields)
