"""Three-dimensional convolutions, as models of video and volumes have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np

from ...core import InputError
from ...search import TensorType
from .operation import Product, joined, zeros
from .steps import FusedSteps, tensor
from .types import F32, Types, Values, widen

# With the filters that go with them in linalg: dhwcf, fcdhw.
LAYOUTS_3D = ("ndhwc", "ncdhw")

Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Conv3d(Product):
    """A convolution of volumes that are padded already.

    Attributes:
        depth, height, width: of the result; what is read follows from them.
        filters: channels of the result.
        steps: elementwise work on the result; see `frontrunner.benchmarks.operations.steps`.
    """

    SIZES: ClassVar = ("images", "depth", "height", "width", "channels", "filters")

    depth: int
    height: int
    width: int
    channels: int
    filters: int
    window: Triple = (3, 3, 3)
    images: int = 1
    stride: Triple = (1, 1, 1)
    dilation: Triple = (1, 1, 1)
    layout: str = "ndhwc"
    types: Types = F32
    steps: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.layout not in LAYOUTS_3D:
            raise InputError(f"no layout {self.layout!r}", f"there are: {', '.join(LAYOUTS_3D)}")
        _ = self.fused_steps  # refuses steps that cannot follow

    @property
    def kind(self) -> str:
        return "conv3d"

    @property
    def name(self) -> str:
        images = [self.images] if self.images > 1 else []
        parts = [
            "conv3d",
            self.layout,
            joined(*images, *self._result, self.channels, self.filters),
            joined(*self.window),
            f"s{joined(*self.stride)}",
        ]
        if self.dilation != (1, 1, 1):
            parts.append(f"d{joined(*self.dilation)}")
        return "_".join([*parts, self.types.short, *self.steps])

    @property
    def inputs(self) -> dict[str, TensorType]:
        window = self.window
        filters = (
            (*window, self.channels, self.filters)
            if self.layout == "ndhwc"
            else (self.filters, self.channels, *window)
        )
        return {
            "lhs": TensorType(self._shape(self._reach, self.channels), self.types.operands),
            "rhs": TensorType(filters, self.types.operands),
            **self.fused_steps.operands,
        }

    @property
    def sizes(self) -> dict[str, int]:
        found = super().sizes
        triples = {"window": self.window, "stride": self.stride, "dilation": self.dilation}
        for name, triple in triples.items():
            found |= {f"{name}_{dim}": size for dim, size in zip("dhw", triple, strict=True)}
        return found

    @property
    def reduction(self) -> int:
        return int(np.prod(self.window)) * self.channels

    def compute(self, inputs: Sequence[Values], dtype: np.dtype[Any]) -> Values:
        """Tap by tap of the window: each is a product of matrices, which BLAS does."""
        dtypes = [t.dtype for t in self.inputs.values()]
        volume, taps, *rest = widen(inputs, dtypes, dtype)
        if self.layout == "ncdhw":
            volume, taps = np.moveaxis(volume, 1, -1), taps.transpose(2, 3, 4, 1, 0)
        total = np.zeros((self.images, *self._result, self.filters), dtype)
        for at in product(*map(range, self.window)):
            seen = volume[(slice(None), *map(self._seen, range(3), at))]
            total += seen @ taps[at]
        result = np.moveaxis(total, -1, 1) if self.layout == "ncdhw" else total
        return self.fused_steps.compute(result, rest)

    def body(self) -> list[str]:
        sums = TensorType(self.fused_steps.shape, self.types.sums)
        lhs, rhs = (tensor(self.inputs[name]) for name in ("lhs", "rhs"))
        filters = "dhwcf" if self.layout == "ndhwc" else "fcdhw"
        return [
            *zeros(sums),
            f"%result = linalg.conv_3d_{self.layout}_{filters}"
            f" {{strides = {_dense(self.stride)}, dilations = {_dense(self.dilation)}}}",
            f"  ins(%lhs, %rhs : {lhs}, {rhs}) outs(%init : {tensor(sums)}) -> {tensor(sums)}",
            *self.fused_steps.mlir(),
            f"return %{'fused' if self.steps else 'result'} : {tensor(self.output)}",
        ]

    @property
    def fused_steps(self) -> FusedSteps:
        shape = self._shape(self._result, self.filters)
        channels = 4 if self.layout == "ndhwc" else 1
        return FusedSteps(self.steps, self.types, shape, (channels,), self.reduction)

    @property
    def _result(self) -> Triple:
        return self.depth, self.height, self.width

    @property
    def _reach(self) -> tuple[int, ...]:
        """How far is read along each dim."""
        every = zip(self._result, self.stride, self.window, self.dilation, strict=True)
        return tuple((out - 1) * s + (window - 1) * d + 1 for out, s, window, d in every)

    def _shape(self, space: Sequence[int], channels: int) -> tuple[int, ...]:
        last = self.layout == "ndhwc"
        return (self.images, *space, channels) if last else (self.images, channels, *space)

    def _seen(self, dim: int, tap: int) -> slice:
        """What a tap of the window sees along a dim."""
        start, stride = tap * self.dilation[dim], self.stride[dim]
        return slice(start, start + (self._result[dim] - 1) * stride + 1, stride)


def _dense(triple: Triple) -> str:
    return f"dense<[{', '.join(map(str, triple))}]> : tensor<3xi64>"
