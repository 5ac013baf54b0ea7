"""What an ONNX model takes, where sizes are up to the caller."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from frontrunner.core import InputError
from frontrunner.experiments.importing import named_inputs


def save(folder: Path, *shapes: list[int | str | None]) -> Path:
    """A model that takes tensors of these shapes, of another type each, and holds a weight."""
    kinds = (TensorProto.FLOAT, TensorProto.INT64, TensorProto.UINT8, TensorProto.BFLOAT16)
    inputs = [
        helper.make_tensor_value_info(f"x{place}", kind, shape)
        for place, (kind, shape) in enumerate(zip(kinds, shapes, strict=False))
    ]
    weight = numpy_helper.from_array(np.ones(3, np.float32), "w")
    inputs.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [3]))
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    nodes = [helper.make_node("Relu", ["x0"], ["y"])]
    path = folder / "model.onnx"
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", inputs, [output], [weight])), path)
    return path


def test_inputs_have_the_names_of_sizes(tmp_path: Path) -> None:
    model = save(tmp_path, ["batch", 3, "seq"], ["batch"], [2], [])
    assert named_inputs(model, ["seq", "batch"]) == (
        *("batchx3xseqxf32", "batchxi64", "2xi8", "bf16"),
    )


@pytest.mark.parametrize(
    ("shape", "dims", "message"),
    [
        (["batch", "seq"], ["batch"], "the input x0 has a size 'seq', which is up to you"),
        (["batch", "seq + 1"], ["batch"], "the input x0 has a size 'seq . 1', which is up to you"),
        (["batch", None], ["batch"], "the input x0 has a size without a name"),
        (["batch", 3], ["batch", "seq"], "--dim seq: no input has a size of that name"),
    ],
)
def test_other_names_are_refused(
    shape: list[int | str | None], dims: list[str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        named_inputs(save(tmp_path, shape), dims)
    assert caught.value.hint


def test_other_formats_have_no_names(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--dim seq: no input has a size of that name"):
        named_inputs(tmp_path / "model.mlir", ["seq"])
