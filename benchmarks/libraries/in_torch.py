"""Operations in PyTorch, on this CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
import torch
import torch.nn.functional as nn

from ..operations import STEPS, Attention, Conv, Matmul, Operation
from ..verifying import NUMPY_TYPES, Array
from .providers import Unsupported

_TYPES = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
}
Tensor = Any
Step = Callable[[Tensor], Tensor]
_STEPS: dict[str, Step] = {
    "relu": torch.relu,
    "relu6": nn.relu6,
    "gelu": nn.gelu,
    "gelu_tanh": partial(nn.gelu, approximate="tanh"),
}


@dataclass(frozen=True)
class TorchOperation:
    """An operation in its parts.

    Attributes:
        product: what precedes the steps.
        steps: in order, each with its operand.
    """

    operation: Operation
    product: Callable[[], Tensor]
    steps: tuple[Step, ...] = ()

    def run(self) -> Tensor:
        with torch.inference_mode():
            return reduce(lambda x, step: step(x), self.steps, self.product())

    def fetch(self, result: Tensor) -> Array:
        dtype, plain = self.operation.output.dtype, result.contiguous()
        bits = dtype == "bf16"  # which NumPy has not
        found = plain.view(torch.int16).numpy().view(np.uint16) if bits else plain.numpy()
        if isinstance(self.operation, Conv):
            found = self.operation.to_layout(found)
        return np.asarray(found).astype(NUMPY_TYPES[dtype], copy=False)


def prepare(operation: Operation, inputs: Sequence[Array], threads: int) -> TorchOperation:
    if other := {t.dtype for t in operation.inputs.values()} - set(_TYPES):
        raise Unsupported(f"no {min(other)}")
    torch.set_num_threads(threads)
    arrays = dict(zip(operation.inputs, inputs, strict=True))
    if isinstance(operation, Attention):
        q, k, v = (_tensor(array, operation.dtype)[None] for array in inputs)
        attend = nn.scaled_dot_product_attention
        return TorchOperation(operation, lambda: attend(q, k, v)[0])
    if isinstance(operation, Matmul):
        return _matmul(operation, arrays)
    if isinstance(operation, Conv):
        return _conv(operation, arrays)
    raise Unsupported(f"no {operation.kind}")


def _matmul(operation: Matmul, arrays: dict[str, Array]) -> TorchOperation:
    given = {name: _tensor(a, operation.inputs[name].dtype) for name, a in arrays.items()}
    lhs, rhs = (
        given[name].mT if name in operation.transposed else given[name] for name in ("lhs", "rhs")
    )
    wide = _TYPES[operation.types.sums]

    def product() -> Tensor:
        if operation.types.operands == "i8" and not operation.batch:
            return torch._int_mm(lhs, rhs)
        return lhs.to(wide) @ rhs.to(wide)

    rest = [given[name] for name in list(arrays)[2:]]
    return TorchOperation(operation, product, _steps(operation, rest))


def _conv(operation: Conv, arrays: dict[str, Array]) -> TorchOperation:
    """Laid out beforehand as the library likes it; channels last are in its strides."""
    if operation.types.is_integer:
        raise Unsupported("no convolutions of integers")
    narrow, sums = operation.types.operands, operation.types.sums
    image = _tensor(operation.nchw(arrays["lhs"]), narrow)
    taps = _tensor(operation.fchw(arrays["rhs"]), narrow)
    if operation.layout != "nchw":
        taps = taps.contiguous(memory_format=torch.channels_last)
    rest = [
        _tensor(array.reshape(-1, 1, 1) if name == "bias" else operation.nchw(array), sums)
        for name, array in list(arrays.items())[2:]
    ]
    wide = _TYPES[sums]
    options = (None, operation.stride, 0, operation.dilation, operation.groups)

    def product() -> Tensor:
        return nn.conv2d(image.to(wide), taps.to(wide), *options)

    return TorchOperation(operation, product, _steps(operation, rest))


def _steps(operation: Matmul | Conv, operands: Sequence[Tensor]) -> tuple[Step, ...]:
    rest, scale = iter(operands), operation.fused_steps.scale
    narrow = _TYPES[operation.types.operands]
    found: list[Step] = []
    for name in operation.steps:
        if name == "quantize":
            found.append(
                lambda x: torch.clamp(torch.round(x.float() * scale), -128, 127).to(torch.int8)
            )
        elif name == "truncate":
            found.append(lambda x: x.to(narrow))
        elif STEPS[name].takes:
            found.append(partial(torch.add, next(rest)))
        else:
            found.append(_STEPS[name])
    return tuple(found)


def _tensor(array: Array, dtype: str) -> Tensor:
    """A tensor on the array's memory, in its strides."""
    if dtype == "bf16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
