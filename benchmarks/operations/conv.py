"""Two-dimensional convolutions: dense, grouped and depthwise, channels last or first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from ...core import InputError
from ...search import TensorType
from .operation import Product, joined, zeros
from .steps import FusedSteps, tensor
from .types import F32, Types, Values, widen

# Of images, with the filters that go with them in linalg: hwcf, fchw; and of some libraries, fhwc.
LAYOUTS = ("nhwc", "nchw", "nhwc_fhwc")


@dataclass(frozen=True)
class Conv(Product):
    """A convolution, of images that are padded already.

    Attributes:
        height, width: of the result; what is read follows from them.
        filters: channels of the result.
        groups: of channels, each with filters of its own; as many as channels: depthwise.
        steps: elementwise work on the result; see `frontrunner.benchmarks.operations.steps`.
    """

    SIZES: ClassVar = ("images", "height", "width", "channels", "filters")

    height: int
    width: int
    channels: int
    filters: int
    window: tuple[int, int] = (3, 3)
    images: int = 1
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    layout: str = "nhwc"
    types: Types = F32
    steps: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.layout not in LAYOUTS:
            raise InputError(f"no layout {self.layout!r}", f"there are: {', '.join(LAYOUTS)}")
        if self.channels % self.groups or self.filters % self.groups:
            raise InputError(
                f"{self.channels} channels and {self.filters} filters cannot be split into"
                f" {self.groups} groups",
                "give a number that divides both",
            )
        _ = self.fused_steps  # refuses steps that cannot follow

    @classmethod
    def square(cls, size: int, channels: int, filters: int, window: int, **more: Any) -> Self:
        """With as many rows as columns, in all that has both.

        Args:
            filters: 0 for a depthwise one.
            more: further fields; `stride` may be one number.
        """
        stride = (more.pop("stride", 1),) * 2
        groups = 1 if filters else channels
        return cls(
            size,
            size,
            channels,
            filters or channels,
            (window, window),
            stride=stride,
            groups=groups,
            **more,
        )

    @property
    def depthwise(self) -> bool:
        """Whether it is an op of its own: linalg has none for filters of the third layout."""
        alone = self.groups == self.channels == self.filters > 1
        return alone and self.layout != "nhwc_fhwc"

    @property
    def kind(self) -> str:
        return "conv"

    @property
    def name(self) -> str:
        images = [self.images] if self.images > 1 else []
        filters = [] if self.depthwise else [self.filters]
        parts = [
            "depthwise" if self.depthwise else "conv",
            self.layout,
            joined(*images, self.height, self.width, self.channels, *filters),
            joined(*self.window),
            f"s{_pair(self.stride)}",
        ]
        if self.dilation != (1, 1):
            parts.append(f"d{_pair(self.dilation)}")
        if self.groups > 1 and not self.depthwise:
            parts.append(f"g{self.groups}")
        return "_".join([*parts, self.types.short, *self.steps])

    @property
    def inputs(self) -> dict[str, TensorType]:
        image = self._shape(*self._reach, self.channels)
        return {
            "lhs": TensorType(image, self.types.operands),
            "rhs": TensorType(self._filter, self.types.operands),
            **self.fused_steps.operands,
        }

    @property
    def sizes(self) -> dict[str, int]:
        found = super().sizes
        pairs = {"window": self.window, "stride": self.stride, "dilation": self.dilation}
        for name, (rows, columns) in pairs.items():
            found |= {f"{name}_h": rows, f"{name}_w": columns}
        return {**found, "groups": self.groups}

    @property
    def reduction(self) -> int:
        return self.window[0] * self.window[1] * self.channels // self.groups

    def scaled_down(self, factor: int) -> Self:
        # As many groups of fewer channels each, but all of one channel.
        groups = max(1, self.groups // factor) if self.depthwise else self.groups
        per = (self.channels // self.groups, self.filters // self.groups)
        channels, filters = (groups * (n if self.depthwise else max(1, n // factor)) for n in per)
        images, height, width = (
            max(1, n // factor) for n in (self.images, self.height, self.width)
        )
        return replace(
            self,
            images=images,
            height=height,
            width=width,
            channels=channels,
            filters=filters,
            groups=groups,
        )

    def compute(self, inputs: Sequence[Values], dtype: np.dtype[Any]) -> Values:
        """Tap by tap of the window: each is a product of matrices, which BLAS does."""
        dtypes = [t.dtype for t in self.inputs.values()]
        image, taps, *rest = widen(inputs, dtypes, dtype)
        groups, per = self.groups, self.filters // self.groups
        # With dims g, n, h, w, c and g, h, w, c, f.
        image = np.moveaxis(self.nchw(image).reshape(self.images, groups, -1, *self._reach), 1, 0)
        image = np.moveaxis(image, 2, 4)
        taps = self.fchw(taps).reshape(groups, per, -1, *self.window).transpose(0, 3, 4, 2, 1)
        total = np.zeros((groups, self.images * self.height * self.width, per), dtype)
        for y in range(self.window[0]):
            for x in range(self.window[1]):
                rows = _steps(y * self.dilation[0], self.height, self.stride[0])
                columns = _steps(x * self.dilation[1], self.width, self.stride[1])
                seen = image[:, :, rows, columns].reshape(groups, -1, image.shape[-1])
                # Of one channel and one filter, a product is slower than what it is.
                total += seen * taps[:, y, x] if self.depthwise else seen @ taps[:, y, x]
        shaped = total.reshape(groups, self.images, self.height, self.width, per)
        result = shaped.transpose(1, 0, 4, 2, 3).reshape(self.images, -1, self.height, self.width)
        return self.fused_steps.compute(self.to_layout(result), rest)

    def body(self) -> list[str]:
        sums = TensorType(self.fused_steps.shape, self.types.sums)
        lhs, rhs = (tensor(self.inputs[name]) for name in ("lhs", "rhs"))
        options = f"{{strides = {_dense(self.stride)}, dilations = {_dense(self.dilation)}}}"
        return [
            *zeros(sums),
            f"%result = {self._op} {options}",
            f"  ins(%lhs, %rhs : {lhs}, {rhs}) outs(%init : {tensor(sums)}) -> {tensor(sums)}",
            *self.fused_steps.mlir(),
            f"return %{'fused' if self.steps else 'result'} : {tensor(self.output)}",
        ]

    @property
    def _op(self) -> str:
        last = self.layout != "nchw"
        if self.depthwise:
            return f"linalg.depthwise_conv_2d_{'nhwc_hwc' if last else 'nchw_chw'}"
        if self.groups > 1:
            return f"linalg.conv_2d_{'nhwgc_gfhwc' if last else 'ngchw_gfchw'}"
        names = {"nhwc": "nhwc_hwcf", "nchw": "nchw_fchw"}
        return f"linalg.conv_2d_{names.get(self.layout, self.layout)}"

    @property
    def _filter(self) -> tuple[int, ...]:
        """The shape of the filters, as the op takes them."""
        last, (rows, columns) = self.layout != "nchw", self.window
        channels, filters = self.channels // self.groups, self.filters // self.groups
        if self.depthwise:
            return (rows, columns, self.groups) if last else (self.groups, rows, columns)
        inner = (rows, columns, channels) if last else (channels, rows, columns)
        if self.groups > 1:
            return (self.groups, filters, *inner)
        return (*inner, filters) if self.layout == "nhwc" else (filters, *inner)

    @property
    def _reach(self) -> tuple[int, int]:
        """Rows and columns that are read."""
        rows, columns = (
            (out - 1) * stride + (window - 1) * dilation + 1
            for out, stride, window, dilation in zip(
                (self.height, self.width), self.stride, self.window, self.dilation, strict=True
            )
        )
        return rows, columns

    def _shape(self, rows: int, columns: int, channels: int) -> tuple[int, ...]:
        """The shape of images, with a dim for groups where the op has one."""
        grouped = self.groups > 1 and not self.depthwise
        depth = (self.groups, channels // self.groups) if grouped else (channels,)
        if self.layout == "nchw":
            return (self.images, *depth, rows, columns)
        return (self.images, rows, columns, *depth)

    def nchw(self, image: Values) -> Values:
        """An image, or a result, with dims n, c, h, w."""
        if self.layout == "nchw":
            return image.reshape(self.images, -1, *image.shape[-2:])
        return image.reshape(*image.shape[:3], -1).transpose(0, 3, 1, 2)

    def fchw(self, taps: Values) -> Values:
        """Filters with dims f, c, h, w: all groups' filters, one group's channels."""
        rows, columns = self.window
        if self.layout == "nchw":
            return taps.reshape(self.filters, -1, rows, columns)
        if self.depthwise or (self.layout == "nhwc" and self.groups == 1):
            return taps.reshape(rows, columns, -1, self.filters).transpose(3, 2, 0, 1)
        return taps.reshape(self.filters, rows, columns, -1).transpose(0, 3, 1, 2)

    def to_layout(self, result: Values) -> Values:
        """The inverse of `nchw`, for a result."""
        last = result if self.layout == "nchw" else result.transpose(0, 2, 3, 1)
        return last.reshape(self.fused_steps.shape)

    @property
    def fused_steps(self) -> FusedSteps:
        shape = self._shape(self.height, self.width, self.filters)
        depth = range(1, len(shape) - 2) if self.layout == "nchw" else range(3, len(shape))
        return FusedSteps(self.steps, self.types, shape, tuple(depth), self.reduction)


def _steps(start: int, count: int, stride: int) -> slice:
    return slice(start, start + (count - 1) * stride + 1, stride)


def _pair(pair: tuple[int, int]) -> str:
    return str(pair[0]) if pair[0] == pair[1] else joined(*pair)


def _dense(pair: tuple[int, int]) -> str:
    values = str(pair[0]) if pair[0] == pair[1] else f"[{pair[0]}, {pair[1]}]"
    return f"dense<{values}> : tensor<2xi64>"
