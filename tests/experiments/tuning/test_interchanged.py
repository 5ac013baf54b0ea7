"""Products with interchanged loops: compiled, run and verified."""

from __future__ import annotations

from pathlib import Path

import pytest

import frontrunner
from frontrunner.search.interchanged import PIPELINE

pytestmark = pytest.mark.usefixtures("brief", "untracked", "own_folder")

# Images, and element types of operands and of sums.
FORMS = {
    "f32": (1, "f32", "f32"),
    "batch": (3, "f32", "f32"),
    "f16": (1, "f16", "f32"),
    "i8": (1, "i8", "i32"),
}


def module(images: int, operand: str, total: str) -> str:
    given, filters = f"tensor<{images}x24x7x10x{operand}>", f"tensor<20x24x1x1x{operand}>"
    output = f"tensor<{images}x20x7x10x{total}>"
    zero = "0" if total == "i32" else "0.0"
    return f"""func.func @conv(%a: {given}, %b: {filters}) -> {output} {{
  %z = arith.constant {zero} : {total}
  %e = tensor.empty() : {output}
  %f = linalg.fill ins(%z : {total}) outs(%e : {output}) -> {output}
  %r = linalg.conv_2d_nchw_fchw ins(%a, %b : {given}, {filters}) outs(%f : {output}) -> {output}
  return %r : {output}
}}
"""


@pytest.mark.parametrize(
    "form", [f if f == "f32" else pytest.param(f, marks=pytest.mark.slow) for f in FORMS]
)
def test_what_is_interchanged_is_right(form: str, tmp_path: Path) -> None:
    file = tmp_path / "conv.mlir"
    file.write_text(module(*FORMS[form]))
    result = frontrunner.tune(
        file, pipeline=PIPELINE, ranker="shuffle", budget=6, pool=200, quiet=True
    )
    assert result.outcomes == {"ok": 6}
