"""ONNX models: imported with their weights, and refused in one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from frontrunner.core import InputError
from frontrunner.core.errors import KilledError
from frontrunner.experiments.importing import onnx_import as onnx_model
from frontrunner.experiments.importing.onnx_import import as_mlir
from frontrunner.search.reading.networks import read_network


@pytest.fixture
def product(tmp_path: Path) -> Path:
    """A matrix product whose right-hand side is a weight."""
    values = np.random.default_rng(0).standard_normal((256, 512), np.float32)
    weight = numpy_helper.from_array(values, "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [64, 256])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [64, 512])],
        [weight],
    )
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def test_a_model_becomes_mlir_and_an_archive(
    product: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where its name begins as options of the importer do."""
    monkeypatch.chdir(tmp_path)
    product.rename("-model.onnx")
    own = (("mine", tmp_path / "mine.irpa"),)
    with as_mlir(Path("-model.onnx"), own) as (mlir, parameters):
        assert parameters[0] == own[0]
        scope, weights = parameters[1]
        assert (scope, weights.exists()) == ("model", True)
        model = read_network(mlir)
        (function,) = model.functions
        assert [str(i) for i in (*function.inputs, *function.outputs)] == [
            "64x256xf32",
            "64x512xf32",
        ]
        assert len(model.dispatches) == 1
        assert [scope for scope, _ in model.parameters] == ["model"]
    assert not mlir.exists()


def test_mlir_is_taken_as_it_is(tmp_path: Path) -> None:
    model = tmp_path / "model.mlir"
    with as_mlir(model, ()) as (mlir, parameters):
        assert (mlir, parameters) == (model, ())


def test_what_is_not_onnx_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_text("no model")
    with (
        pytest.raises(
            InputError, match=r"model\.onnx is not an ONNX model that can be imported: \S"
        ),
        as_mlir(path, ()),
    ):
        pass


def test_a_killed_importer_is_no_bad_model(product: Path, tmp_path: Path, monkeypatch) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    (tmp_path / "killed_importer.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(onnx_model, "IMPORTER", "killed_importer")
    with (
        pytest.raises(KilledError, match=r"importing .*model\.onnx was killed by SIGKILL \("),
        as_mlir(product, ()),
    ):
        pass


def test_without_the_extra(product: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(onnx_model, "find_spec", lambda name: None)
    with (
        pytest.raises(InputError, match="needs onnx") as refused,
        as_mlir(product, ()),
    ):
        pass
    assert ".[onnx]" in refused.value.hint
