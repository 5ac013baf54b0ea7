"""Exports of torch modules; they need the extra `torch`."""

from __future__ import annotations

from pathlib import Path

import pytest

from frontrunner.experiments.importing import export_module
from frontrunner.experiments.importing.export import SCOPE

torch = pytest.importorskip("torch", exc_type=ImportError)
pytest.importorskip("iree.turbine", exc_type=ImportError)


@pytest.mark.parametrize(("size", "pooled"), [(1, False), (4, True)])
def test_pools_of_all_that_there_is_are_means(size: int, pooled: bool, tmp_path: Path) -> None:
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 1), torch.nn.AdaptiveAvgPool2d(size))
    exported = export_module(module, [torch.zeros(1, 3, 8, 8)], tmp_path / "pool.mlir")
    text = exported.mlir.read_text()
    assert ("adaptive_avg_pool2d" in text, "torch.aten.mean" in text) == (pooled, not pooled)
    assert f'"{SCOPE}"' in text and exported.weights.stat().st_size > 4 * 3 * 4


def test_sizes_that_stay_up_to_the_caller(tmp_path: Path) -> None:
    rows = ({0: torch.export.Dim("rows", min=2, max=64)},)
    module, example = torch.nn.Linear(8, 16), [torch.zeros(4, 8)]
    exported = export_module(module, example, tmp_path / "m.mlir", rows)
    assert "!torch.vtensor<[?,16],f32>" in exported.mlir.read_text()
