"""Changes of ONNX models; the extra `onnx` makes and reads them."""

from __future__ import annotations

from random import Random
from typing import Any

from ..traps import Traps
from .edits import ChangedData, pick
from .raw import ANY

_SIZES = (0, -1, 2**31, 2**40, 2**62, 7)


def make_model() -> bytes:
    """A product of two matrices, one of them a weight."""
    from onnx import TensorProto, helper

    takes = helper.make_tensor_value_info("x", TensorProto.FLOAT, [32, 64])
    gives = helper.make_tensor_value_info("y", TensorProto.FLOAT, [32, 64])
    weight = helper.make_tensor("w", TensorProto.FLOAT, [64, 64], [1 / 64] * 64 * 64)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    graph = helper.make_graph(nodes, "g", [takes], [gives], [weight])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 8
    return bytes(made.SerializeToString())


def change_onnx(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    if rng.random() < 0.4:
        return rng.choice(ANY)(rng, data, traps)
    from onnx import ModelProto

    model = ModelProto()
    model.ParseFromString(data)
    what = rng.choice(_CHANGES)(rng, model, traps)
    return ChangedData(bytes(model.SerializeToString()), what)


def _external(rng: Random, model: Any, traps: Traps) -> str:
    """The weight's values are in another file, they say."""
    place = rng.choice(["../outside/file", str(traps.folder / "file"), "/dev/zero", "..", "fifo",
                        str(traps.new), "model.onnx", "/proc/self/environ"])  # fmt: skip
    weight = model.graph.initializer[0]
    weight.ClearField("float_data")
    weight.data_location = 1
    said = {"location": place, "offset": "0", "length": str(rng.choice([16384, 2**40, -1]))}
    for key, value in said.items():
        entry = weight.external_data.add()
        entry.key, entry.value = key, value
    return f"the weight is in {place!r}"


def _dims(rng: Random, model: Any, _: Traps) -> str:
    dims, size = model.graph.initializer[0].dims, rng.choice(_SIZES)
    dims[0] = size
    return f"the weight is {size} x 64"


def _input(rng: Random, model: Any, _: Traps) -> str:
    shape, size = model.graph.input[0].type.tensor_type.shape, rng.choice(_SIZES)
    shape.dim[rng.randrange(2)].dim_value = size
    return f"the input has a size of {size}"


def _operation(rng: Random, model: Any, traps: Traps) -> str:
    node = pick(rng, list(model.graph.node))
    node.op_type = rng.choice(["Nothing", "", traps.word(rng), "Loop", "If", "PyOp", "Conv"])
    node.domain = rng.choice(["", "ai.onnx.contrib", "x"])
    return f"an operation is {node.op_type[:60]!r}"


def _names(rng: Random, model: Any, traps: Traps) -> str:
    word = traps.word(rng)
    holder = rng.choice(["graph", "weight", "node", "producer"])
    if holder == "graph":
        model.graph.name = word
    elif holder == "weight":
        model.graph.initializer[0].name = model.graph.node[0].input[1] = word
    elif holder == "node":
        model.graph.node[0].output[0] = model.graph.node[1].input[0] = word
    else:
        model.producer_name = word
    return f"the {holder} is called {word[:60]!r}"


def _versions(rng: Random, model: Any, _: Traps) -> str:
    model.ir_version = rng.choice([0, 99, -1])
    model.opset_import[0].version = rng.choice([0, 1, 999, 2**62])
    return f"the versions are {model.ir_version} and {model.opset_import[0].version}"


def _nested(rng: Random, model: Any, _: Traps) -> str:
    """Graphs within graphs, as conditions have them."""
    depth = rng.choice([5, 40, 90])
    graph = model.graph
    for _level in range(depth):
        node = graph.node.add()
        node.op_type = "If"
        attribute = node.attribute.add()
        attribute.name, attribute.type = "then_branch", 5
        graph = attribute.g
    return f"graphs are {depth} deep"


def _many(rng: Random, model: Any, _: Traps) -> str:
    count = rng.choice([300, 3_000])
    last = model.graph.node[1]
    for place in range(count):
        node = model.graph.node.add()
        node.op_type = "Relu"
        node.input.append(last.output[0] if place == 0 else f"r{place - 1}")
        node.output.append(f"r{place}")
    return f"there are {count} operations more"


_CHANGES = (_external, _external, _dims, _input, _operation, _names, _versions, _nested, _many)
