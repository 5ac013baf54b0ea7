"""Convolutions from the command lines of `MIOpenDriver` and `fusilli_benchmark_driver`."""

from __future__ import annotations

from collections.abc import Mapping

from ...core import InputError
from .command_options import Options, renamed
from .conv_calls import (
    BACKWARD_DATA,
    BACKWARD_WEIGHTS,
    CHANNELS_FIRST,
    CHANNELS_LAST,
    FORWARD,
    ConvCall,
)
from .operation import Operation
from .types import Types

MIOPEN, FUSILLI = "MIOpenDriver", "fusilli_benchmark_driver"

_NAMES = renamed(
    {
        "images": "n batchsize",
        "channels": "c in_channels",
        "depth": "in_d",
        "height": "H in_h",
        "width": "W in_w",
        "filters": "k out_channels",
        "window_d": "fil_d",
        "window_h": "y fil_h",
        "window_w": "x fil_w",
        "pad_d": "pad_d",
        "pad_h": "p pad_h",
        "pad_w": "q pad_w",
        "stride_d": "conv_stride_d",
        "stride_h": "u conv_stride_h",
        "stride_w": "v conv_stride_w",
        "dilation_d": "dilation_d",
        "dilation_h": "l dilation_h",
        "dilation_w": "j dilation_w",
        "groups": "g group_count",
        "mode": "m mode",
        "direction": "F forw",
        "in_layout": "I in_layout",
        "fil_layout": "f fil_layout",
        "out_layout": "O out_layout",
        "bias": "b bias",
        "spatial": "_ spatial_dim",
        "pad_mode": "z pad_mode",
        "fp16": "fp16",
        "bf16": "bf16",
    }
)
# Fusilli has only one mode of convolutions, and another name for the direction.
_FUSILLI_NAMES = {name: ours for name, ours in _NAMES.items() if name not in ("m", "forw")} | {
    "mode": "direction"
}
# How a benchmark goes about measuring, which changes nothing of what is computed.
_ANYWAY = frozenset(
    "t time V verify i iter w wall s search P printconv S solution o dump_output".split()
)
MIOPEN_CONVS = {
    "conv": Types(),
    "convfp16": Types("f16", "f32"),
    "convbfp16": Types("bf16", "f32"),
    "convint8": Types("i8", "i32"),
}
# Of `-F`: what is computed. 0, for all, is the forward direction here, as is none; the gradients
# have lines of their own in logs.
_DIRECTIONS = {"0": FORWARD, "1": FORWARD, "2": BACKWARD_DATA, "4": BACKWARD_WEIGHTS}
# By the number of dims: those with channels first, and last.
_LAYOUTS = {"2": ("NCHW", "NHWC"), "3": ("NCDHW", "NDHWC")}


def miopen_conv(words: list[str]) -> Operation:
    """The operation of a line of `MIOpenDriver`, of the words behind the program.

    Raises:
        InputError: it is not understood.
    """
    name = words[0] if words else ""
    if name not in MIOPEN_CONVS:
        raise InputError(f"{name!r} is not understood, {', '.join(MIOPEN_CONVS)} are")
    return _conv(Options(words[1:], _NAMES, _ANYWAY), MIOPEN_CONVS[name])


def fusilli_conv(words: list[str]) -> Operation:
    """As `miopen_conv`, of a line of `fusilli_benchmark_driver`."""
    if "conv" not in words:
        raise InputError("only conv is understood of fusilli_benchmark_driver")
    options = Options(words[words.index("conv") + 1 :], _FUSILLI_NAMES, _ANYWAY)
    types: Mapping[str, Types] = {"fp16": Types("f16", "f32"), "bf16": Types("bf16", "f32")}
    given = [name for name in types if options.given(name)]
    for name in given:
        options.word(name, "")
    return _conv(options, types[given[0]] if given else Types())


def _conv(options: Options, types: Types) -> Operation:
    options.only("mode", "conv")
    options.only("pad_mode", "default")
    dims = options.only("spatial", *_LAYOUTS)
    first, last = _LAYOUTS[dims]
    layout = options.only("in_layout", first, last)
    options.only("fil_layout", layout)
    options.only("out_layout", layout)
    direction = _DIRECTIONS[options.only("direction", *_DIRECTIONS)]
    biased = options.only("bias", "0", "1", "") != "0"  # Fusilli's has no value
    if biased and direction != FORWARD:
        raise options.refused("bias", "0 with this direction")
    names = "hw" if dims == "2" else "dhw"

    def along(name: str, default: int | None) -> tuple[int, ...]:
        return tuple(options.number(f"{name}_{dim}", default) for dim in names)

    sizes = {"d": "depth", "h": "height", "w": "width"}
    found = ConvCall(
        images=options.number("images"),
        channels=options.number("channels"),
        filters=options.number("filters"),
        image=tuple(options.number(sizes[dim]) for dim in names),
        window=along("window", None),
        pad=along("pad", 0),
        stride=along("stride", 1),
        dilation=along("dilation", 1),
        groups=options.number("groups", 1),
        direction=direction,
        layout=CHANNELS_FIRST if layout == first else CHANNELS_LAST,
        types=types,
        steps=(
            *(("bias",) if biased else ()),
            *(("truncate",) if types.operands in ("f16", "bf16") else ()),
        ),
    ).operation()
    options.check_all_read()
    return found
