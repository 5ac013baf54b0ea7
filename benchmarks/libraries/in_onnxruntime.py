"""Operations in ONNX Runtime, on this CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

from ...core import first_line
from ..operations import Attention, Conv, Matmul, Operation
from ..verifying import NUMPY_TYPES, Array
from .providers import Unsupported

_TYPES = {
    "f16": TensorProto.FLOAT16,
    "f32": TensorProto.FLOAT,
    "i8": TensorProto.INT8,
    "i32": TensorProto.INT32,
}
# The first with Gelu; and the file format that goes with it.
_OPSET, _FORMAT = 20, 9


@dataclass
class _Graph:
    """A graph that is being built; each node's only result is named after its number."""

    feeds: dict[str, Array]
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        return name

    def constant(self, value: float, dtype: int) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(helper.make_tensor(name, dtype, [], [value]))
        return name


@dataclass(frozen=True)
class OnnxOperation:
    """An operation as a graph of its own, ready to run."""

    operation: Operation
    session: Any
    feeds: dict[str, Any]

    def run(self) -> Any:
        return self.session.run_with_ort_values(None, self.feeds)[0]

    def fetch(self, result: Any) -> Array:
        found = np.asarray(result.numpy())
        if isinstance(self.operation, Conv):
            found = self.operation.to_layout(found)
        return found.astype(NUMPY_TYPES[self.operation.output.dtype], copy=False)


def prepare(operation: Operation, inputs: Sequence[Array], threads: int) -> OnnxOperation:
    types = {t.dtype for t in (*operation.inputs.values(), operation.output)}
    if other := sorted(types - set(_TYPES)):
        raise Unsupported(f"no {other[0]}")
    graph = _Graph(dict(zip(operation.inputs, inputs, strict=True)))
    if isinstance(operation, Attention):
        result = _attention(operation, graph)
    elif isinstance(operation, Matmul):
        result = _steps(operation, graph, _matmul(operation, graph))
    elif isinstance(operation, Conv):
        result = _steps(operation, graph, _conv(operation, graph))
    else:
        raise Unsupported(f"no {operation.kind}")
    session = _session(operation, graph, result, threads)
    feeds = {
        name: ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))
        for name, array in graph.feeds.items()
    }
    return OnnxOperation(operation, session, feeds)


def _session(operation: Operation, graph: _Graph, result: str, threads: int) -> Any:
    given = [
        helper.make_tensor_value_info(name, _TYPES[operation.inputs[name].dtype], array.shape)
        for name, array in graph.feeds.items()
    ]
    out = helper.make_tensor_value_info(result, _TYPES[operation.output.dtype], None)
    model = helper.make_model(
        helper.make_graph(graph.nodes, operation.kind, given, [out], graph.constants),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_FORMAT,
    )
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    try:
        return ort.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # it has a class of its own for each way to refuse
        raise Unsupported(first_line(error)[:200]) from error


def _matmul(operation: Matmul, graph: _Graph) -> str:
    for name in operation.transposed:
        # Turned beforehand: a model's weights are, when it is loaded.
        graph.feeds[name] = graph.feeds[name].swapaxes(-1, -2)
    if operation.types.operands == "i8":
        return graph.add("MatMulInteger", "lhs", "rhs")
    return graph.add("MatMul", *_widened(operation, graph))


def _conv(operation: Conv, graph: _Graph) -> str:
    feeds = graph.feeds
    feeds["lhs"] = operation.nchw(feeds["lhs"])
    feeds["rhs"] = operation.fchw(feeds["rhs"])
    if "bias" in feeds:
        feeds["bias"] = feeds["bias"].reshape(1, -1, 1, 1)
    if "residual" in feeds:
        feeds["residual"] = operation.nchw(feeds["residual"])
    options = {
        "strides": operation.stride,
        "dilations": operation.dilation,
        "group": operation.groups,
    }
    if operation.types.operands == "i8":
        return graph.add("ConvInteger", "lhs", "rhs", **options)
    return graph.add("Conv", *_widened(operation, graph), **options)


def _attention(operation: Attention, graph: _Graph) -> str:
    graph.feeds["k"] = graph.feeds["k"].swapaxes(1, 2)
    scores = graph.add("MatMul", "q", "k")
    scale = graph.constant(operation.width**-0.5, _TYPES[operation.dtype])
    weights = graph.add("Softmax", graph.add("Mul", scores, scale), axis=-1)
    return graph.add("MatMul", weights, "v")


def _widened(operation: Matmul | Conv, graph: _Graph) -> tuple[str, str]:
    """The operands, in the type that sums are declared in."""
    if operation.types.operands == operation.types.sums:
        return "lhs", "rhs"
    wide = _TYPES[operation.types.sums]
    return graph.add("Cast", "lhs", to=wide), graph.add("Cast", "rhs", to=wide)


def _steps(operation: Matmul | Conv, graph: _Graph, value: str) -> str:
    sums = _TYPES[operation.types.sums]
    for step in operation.steps:
        if step in ("bias", "residual"):
            value = graph.add("Add", value, step)
        elif step == "relu":
            value = graph.add("Max", value, graph.constant(0, sums))
        elif step == "relu6":
            value = graph.add("Clip", value, graph.constant(0, sums), graph.constant(6, sums))
        elif step.startswith("gelu"):
            kind = "tanh" if step == "gelu_tanh" else "none"
            value = graph.add("Gelu", value, approximate=kind)
        elif step == "truncate":
            value = graph.add("Cast", value, to=_TYPES[operation.types.operands])
        else:
            real = TensorProto.FLOAT
            scale, low, high = (
                graph.constant(c, real) for c in (operation.fused_steps.scale, -128, 127)
            )
            scaled = graph.add("Mul", graph.add("Cast", value, to=real), scale)
            clipped = graph.add("Clip", graph.add("Round", scaled), low, high)
            value = graph.add("Cast", clipped, to=TensorProto.INT8)
    return value
