"""Operations from graphs as hipDNN logs them: JSON with `nodes` and `tensors`, on a line.

A graph is one product or convolution, in any direction, with elementwise nodes behind it: what is
added for each channel, and ReLU.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core import InputError, decode, parse_json
from .conv_calls import (
    BACKWARD_DATA,
    BACKWARD_WEIGHTS,
    CHANNELS_FIRST,
    CHANNELS_LAST,
    FORWARD,
    ConvCall,
)
from .matmul import Matmul
from .operation import Operation
from .types import Types

# What a line has that holds a graph.
NODES = '"nodes"'

_TYPES = {"float": Types(), "half": Types("f16", "f32"), "bfloat16": Types("bf16", "f32")}
# The input and the filters of the forward direction, and its result, by their names in each.
_CONVS = {
    "ConvolutionFwdAttributes": (FORWARD, "x", "w", "y"),
    "ConvolutionBwdAttributes": (BACKWARD_DATA, "dx", "w", "dy"),
    "ConvolutionWrwAttributes": (BACKWARD_WEIGHTS, "x", "dw", "dy"),
}
_MATMUL, _POINTWISE = "MatmulAttributes", "PointwiseAttributes"
_ADD, _RELU = "add", "relu_fwd"


_Node = Mapping[str, Any]
_Nodes = Sequence[_Node]


@dataclass(frozen=True)
class _Tensor:
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str


def graph_operation(line: str) -> Operation:
    """What the graph on a line computes.

    Raises:
        InputError: it is not understood.
    """
    try:
        data = parse_json(line[line.index("{") : line.rindex("}") + 1].encode())
        nodes, tensors = data["nodes"], {one["uid"]: _tensor(one) for one in data["tensors"]}
        root, *others = nodes
        if root["type"] == _MATMUL:
            return _matmul(root, tensors, others)
        if root["type"] in _CONVS:
            return _conv(root, tensors, others)
    except (LookupError, ArithmeticError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"the graph lacks something: {type(error).__name__}: {error}") from None
    known = ", ".join([_MATMUL, *_CONVS])
    raise InputError(f"{root['type']} is not understood, {known} are")


def _tensor(data: Mapping[str, Any]) -> _Tensor:
    dims = decode(tuple[int, ...], data["dims"], "dims")
    strides = decode(tuple[int, ...], data.get("strides") or [], "strides")
    return _Tensor(dims, strides, str(data.get("data_type", "float")))


def _steps(
    nodes: _Nodes, tensors: Mapping[Any, _Tensor], channel: int, channels: int
) -> tuple[str, ...]:
    """Elementwise nodes, each of which takes the result of the one before.

    Args:
        channel: which dim of the result counts channels, and how many there are.
    """
    found = []
    for node in nodes:
        # hipDNN has it among the inputs.
        given = node.get("parameters") or node["inputs"]
        mode = str(node.get("operation") or node.get("mode") or given["operation"])
        if node["type"] != _POINTWISE or mode.lower() not in (_ADD, _RELU):
            raise InputError(f"{node['type']} {mode} is not understood behind another node")
        if mode.lower() == _RELU:
            found.append(_relu(given))
            continue
        added = list(tensors[node["inputs"]["in_1_tensor_uid"]].dims)
        if added.pop(channel) != channels or any(size != 1 for size in added):
            raise InputError("only what has a value for each channel can be added")
        found.append("bias")
    return tuple(found)


def _relu(given: Mapping[str, Any]) -> str:
    """ReLU, also where what is above 6 is 6."""
    upper = given.get("relu_upper_clip")
    if given.get("relu_lower_clip") or given.get("relu_lower_clip_slope") or upper not in (None, 6):
        raise InputError(f"{_RELU} is understood as it is, or with relu_upper_clip 6")
    return "relu" if upper is None else "relu6"


def _conv(node: _Node, tensors: Mapping[Any, _Tensor], others: _Nodes) -> Operation:
    direction, x, w, _ = _CONVS[node["type"]]
    uids = {**node["inputs"], **node["outputs"]}
    image, filters = (tensors[uids[f"{name}_tensor_uid"]] for name in (x, w))
    _check_alike(image, filters)
    orders = {t.strides[1] == 1 for t in (image, filters) if t.strides and _has_order(t)}
    if len(orders) > 1:
        raise InputError("an image and filters of which one has channels last are not supported")
    given = node.get("parameters", node)
    pad = decode(tuple[int, ...], given["pre_padding"], "pre_padding")
    if pad != decode(tuple[int, ...], given.get("post_padding", pad), "post_padding"):
        raise InputError("pads that differ before and behind are not supported")
    types = _types(image)
    result = filters.dims[0] if direction == FORWARD else image.dims[1]
    steps = _steps(others, tensors, 1, result)
    if direction == BACKWARD_WEIGHTS and "bias" in steps:
        raise InputError("what is added to the gradient of filters is not supported")
    return ConvCall(
        images=image.dims[0],
        channels=image.dims[1],
        filters=filters.dims[0],
        image=image.dims[2:],
        window=filters.dims[2:],
        pad=pad,
        stride=decode(tuple[int, ...], given["stride"], "stride"),
        dilation=decode(tuple[int, ...], given["dilation"], "dilation"),
        groups=image.dims[1] // filters.dims[1],
        direction=direction,
        layout=CHANNELS_LAST if image.strides[1:2] == (1,) else CHANNELS_FIRST,
        types=types,
        steps=_narrowed(types, steps),
    ).operation()


def _matmul(node: _Node, tensors: Mapping[Any, _Tensor], others: _Nodes) -> Operation:
    a, b = (tensors[node["inputs"][f"{name}_tensor_uid"]] for name in "ab")
    (*batch, m, k), n = a.dims, b.dims[-1]
    if b.dims[:-2] != a.dims[:-2] or len(batch) > 1 or b.dims[-2] != k:
        raise InputError(f"a product of {a.dims} and {b.dims} is not supported")
    _check_alike(a, b)
    turned = tuple(name for name, one in (("lhs", a), ("rhs", b)) if _is_turned(one))
    types = _types(a)
    return Matmul(
        m=m,
        n=n,
        k=k,
        types=types,
        batch=batch[0] if batch and batch[0] > 1 else 0,
        transposed=turned,
        steps=_narrowed(types, _steps(others, tensors, -1, n)),
    )


def _is_turned(matrix: _Tensor) -> bool:
    """Whether it is stored column by column, and not row by row.

    Raises:
        InputError: it is stored otherwise, such as among others of the batch.
    """
    if not matrix.strides:
        return False
    rows, columns = matrix.dims[-2:]
    for turned, strides in ((False, (columns, 1)), (True, (1, rows))):
        due = (rows * columns, *strides)[-len(matrix.dims) :]
        every = zip(matrix.strides, due, matrix.dims, strict=True)
        if all(found == wanted for found, wanted, size in every if size > 1):
            return turned
    raise InputError(
        f"strides {matrix.strides} of {matrix.dims} are neither row by row nor column by column"
    )


def _check_alike(*tensors: _Tensor) -> None:
    """Refuses operands of several types, and those with gaps."""
    if len({tensor.dtype for tensor in tensors}) > 1:
        raise InputError("operands of several types are not supported")
    for tensor in tensors:
        strides = [s * d for s, d in zip(tensor.strides, tensor.dims, strict=False) if d > 1]
        if strides and max(strides) != math.prod(tensor.dims):
            raise InputError(f"strides {tensor.strides} of {tensor.dims} leave gaps")


def _has_order(tensor: _Tensor) -> bool:
    """Whether channels first and last are two orders, and not one."""
    return tensor.dims[1] > 1 and math.prod(tensor.dims[2:]) > 1


def _types(tensor: _Tensor) -> Types:
    name = tensor.dtype.lower()
    if name not in _TYPES:
        raise InputError(f"type {tensor.dtype} is not understood, {', '.join(_TYPES)} are")
    return _TYPES[name]


def _narrowed(types: Types, steps: tuple[str, ...]) -> tuple[str, ...]:
    return (*steps, "truncate") if types.operands != types.sums else steps
