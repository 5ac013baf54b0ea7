"""Convolutions as libraries are called with them, in all directions, as dispatches."""

from __future__ import annotations

from dataclasses import dataclass

from ...core import InputError
from .conv import Conv
from .conv3d import Conv3d
from .operation import Operation
from .types import F32, Types

FORWARD, BACKWARD_DATA, BACKWARD_WEIGHTS = "forward", "backward data", "backward weights"
CHANNELS_FIRST, CHANNELS_LAST = "channels first", "channels last"


@dataclass(frozen=True)
class ConvCall:
    """A convolution of a library, by the sizes of its forward direction.

    Attributes:
        image: rows and columns of the input, before them its depth where there is one.
        window, pad, stride, dilation: along each of these.
        layout: of images, filters and results alike.
        steps: elementwise work on the result.
    """

    images: int
    channels: int
    filters: int
    image: tuple[int, ...]
    window: tuple[int, ...]
    pad: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int = 1
    direction: str = FORWARD
    layout: str = CHANNELS_FIRST
    types: Types = F32
    steps: tuple[str, ...] = ()

    def operation(self) -> Operation:
        """What is computed, as the compiler gets it: always a forward convolution.

        * The gradient of the input is one of the results' gradients, with zeros between and around
          them, and the filters turned round.
        * The gradient of the filters is one of the input, with the results' gradients as filters:
          channels are images, images are channels, strides and dilations change places.

        Raises:
            InputError: there is no such convolution.
        """
        if min(*self.window, *self.stride, *self.dilation) < 1 or min(self.pad) < 0:
            raise InputError("windows, strides and dilations are at least 1, pads at least 0")
        every = zip(self.image, self.window, self.pad, self.stride, self.dilation, strict=True)
        result = tuple((n + 2 * p - d * (w - 1) - 1) // s + 1 for n, w, p, s, d in every)
        if self.direction == FORWARD:
            return self._forward(
                result, self.images, self.channels, self.filters, self.window,
                self.stride, self.dilation,
            )  # fmt: skip
        if self.groups > 1:
            raise InputError(f"the {self.direction} of grouped convolutions is not supported")
        ones = (1,) * len(self.image)
        if self.direction == BACKWARD_DATA:
            return self._forward(
                self.image, self.images, self.filters, self.channels, self.window,
                ones, self.dilation,
            )  # fmt: skip
        return self._forward(
            self.window, self.channels, self.images, self.filters, result,
            self.dilation, self.stride,
        )  # fmt: skip

    def _forward(
        self,
        result: tuple[int, ...],
        images: int,
        channels: int,
        filters: int,
        window: tuple[int, ...],
        stride: tuple[int, ...],
        dilation: tuple[int, ...],
    ) -> Operation:
        first = self.layout == CHANNELS_FIRST
        if len(result) not in (2, 3):
            raise InputError(
                f"a convolution has {len(result)} image dimensions, two and three are supported"
            )
        if len(result) == 2:
            (height, width), (rows, columns) = result, window
            return Conv(
                height,
                width,
                channels,
                filters,
                (rows, columns),
                images,
                (stride[0], stride[1]),
                (dilation[0], dilation[1]),
                self.groups,
                "nchw" if first else "nhwc_fhwc",
                self.types,
                self.steps,
            )
        if self.groups > 1:
            raise InputError("grouped convolutions in three dimensions are not supported")
        return Conv3d(
            result[0],
            result[1],
            result[2],
            channels,
            filters,
            (window[0], window[1], window[2]),
            images,
            (stride[0], stride[1], stride[2]),
            (dilation[0], dilation[1], dilation[2]),
            "ncdhw" if first else "ndhwc",
            self.types,
            self.steps,
        )
