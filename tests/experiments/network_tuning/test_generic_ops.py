"""A norm between two products is tuned in a model with them: real compiles, made-up speedups."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import frontrunner

NORM = (Path(__file__).parents[2] / "data" / "norm.mlir").read_text()
PRODUCT = """
  %n = tensor.empty() : tensor<96x64xf32>
  %g = linalg.fill ins(%zero : f32) outs(%n : tensor<96x64xf32>) -> tensor<96x64xf32>
  %y = linalg.matmul ins(%r, %b : tensor<96x100xf32>, tensor<100x64xf32>)
    outs(%g : tensor<96x64xf32>) -> tensor<96x64xf32>
  return %y : tensor<96x64xf32>
}
"""

pytestmark = pytest.mark.usefixtures("brief", "untracked", "hasty")


@pytest.mark.slow
def test_a_norm_is_tuned_in_its_model(tmp_path: Path) -> None:
    model = tmp_path / "model.mlir"
    head, body = NORM.split(") -> tensor<96x100xf32> {", 1)
    taken = f"{head}, %b: tensor<100x64xf32>) -> tensor<96x64xf32> {{{body}"
    model.write_text(taken[: taken.rindex("  return")] + PRODUCT)
    run = tmp_path / "run"
    result = frontrunner.tune_model(
        model, options="none", minutes=1, pool=4, coverage=1.0, ranker="heuristic",
        out=run, quiet=True,
    )  # fmt: skip
    norm = next(row for row in result.dispatches if "reduction_96x100" in row.name)
    assert norm.candidates, [(row.name, row.reason) for row in result.dispatches]
    lines = [json.loads(line) for line in (run / "candidates.jsonl").open()]
    timed = [one for one in lines if one["dispatch"] == norm.name and one["speedup"]]
    assert timed, lines
