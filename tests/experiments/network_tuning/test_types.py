"""Models in other types than f32, from reading to a spec: real compiles, made-up speedups."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import frontrunner

MODELS = Path(__file__).parents[2] / "data" / "models"

pytestmark = pytest.mark.usefixtures("brief", "untracked", "hasty")


def bf16(folder: Path) -> Path:
    """Two products in bf16, with sums in f32."""
    text = (MODELS / "two_matmuls.mlir").read_text()
    for name in ("32x256", "256x512", "512x1024"):
        text = text.replace(f"tensor<{name}xf32>", f"tensor<{name}xbf16>")
    cast = """
      %g16 = arith.truncf %g : tensor<32x512xf32> to tensor<32x512xbf16>
      %y = linalg.matmul ins(%g16, %w : tensor<32x512xbf16>,"""
    text = text.replace("%y = linalg.matmul ins(%g, %w : tensor<32x512xf32>,", cast)
    file = folder / "model.mlir"
    file.write_text(text)
    return file


def quantized(folder: Path) -> Path:
    """A product of int8, as ONNX has it: quantized inputs and weights that are dequantized."""
    rng = np.random.default_rng(0)
    constants = {
        "w": rng.integers(-127, 127, (256, 512)).astype(np.int8),
        "zero": np.array(0, np.int8),
        "scale": np.array(0.05, np.float32),
        "w_scale": np.array(0.01, np.float32),
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["x8"]),
        helper.make_node("DequantizeLinear", ["x8", "scale", "zero"], ["xf"]),
        helper.make_node("DequantizeLinear", ["w", "w_scale", "zero"], ["wf"]),
        helper.make_node("MatMul", ["xf", "wf"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "quantized",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [64, 256])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [64, 512])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    file = folder / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), file)
    return file


@pytest.mark.slow
@pytest.mark.parametrize(("make", "types"), [(bf16, "bf16xbf16xf32"), (quantized, "i8")])
def test_a_model_of_narrow_types_is_tuned(make, types: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    result = frontrunner.tune_model(
        make(tmp_path), options="none", minutes=1, pool=4, ranker="heuristic",
        out=run, quiet=True,
    )  # fmt: skip
    tuned = [row for row in result.dispatches if row.candidates]
    assert any(types in row.name for row in tuned), [row.name for row in result.dispatches]
    # Of what was tried in the model, or of runs of dispatches by themselves.
    logs = [*run.glob("candidates.jsonl"), *run.rglob("outcomes.jsonl")]
    measured = [json.loads(line) for log in logs for line in log.open()]
    assert any(line.get("time_us") or line.get("speedup") for line in measured), measured[:3]
