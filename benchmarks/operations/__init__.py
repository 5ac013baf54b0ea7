"""Operations to make dispatches of: their MLIR, and what they compute, in NumPy."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .attention import Attention
    from .commands import read_commands
    from .conv import Conv
    from .conv3d import Conv3d
    from .kinds import OPERATIONS, from_dict
    from .matmul import Matmul, Matvec
    from .operation import MAX_SIZE, Operation, write_operations
    from .presets import PRESETS
    from .steps import STEPS, tensor
    from .types import Types, narrow, parse_types
else:
    __getattr__ = exports(__name__)

__all__ = [
    "MAX_SIZE",
    "OPERATIONS",
    "PRESETS",
    "STEPS",
    "Attention",
    "Conv",
    "Conv3d",
    "Matmul",
    "Matvec",
    "Operation",
    "Types",
    "from_dict",
    "narrow",
    "parse_types",
    "read_commands",
    "tensor",
    "write_operations",
]
