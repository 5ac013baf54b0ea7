"""Grouped and 3-d convolutions with an unrolled window: compiled, run and verified."""

from __future__ import annotations

from pathlib import Path

import pytest

import frontrunner
from frontrunner.core import InputError

pytestmark = pytest.mark.usefixtures("brief", "untracked")

# Op, input, filter, output, dilation and stride.
FORMS = {
    "grouped": ("ngchw_gfchw", (1, 2, 4, 10, 10), (2, 4, 4, 3, 3), (1, 2, 4, 8, 8), 1, 1),
    "strided": ("ngchw_gfchw", (1, 2, 4, 17, 17), (2, 4, 4, 3, 3), (1, 2, 4, 8, 8), 1, 2),
    "dilated": ("ngchw_gfchw", (1, 2, 4, 12, 12), (2, 4, 4, 3, 3), (1, 2, 4, 8, 8), 2, 1),
    "both": ("ngchw_gfchw", (1, 2, 4, 19, 19), (2, 4, 4, 3, 3), (1, 2, 4, 8, 8), 2, 2),
    "batch": ("ngchw_gfchw", (3, 2, 4, 10, 10), (2, 4, 4, 3, 3), (3, 2, 4, 8, 8), 1, 1),
    "channels last": ("nhwgc_gfhwc", (1, 10, 10, 2, 4), (2, 8, 3, 3, 4), (1, 8, 8, 2, 8), 1, 1),
    "one row": ("ngchw_gfchw", (1, 2, 4, 8, 12), (2, 4, 4, 1, 5), (1, 2, 4, 8, 8), 1, 1),
    "volume": ("ncdhw_fcdhw", (1, 2, 4, 6, 10), (8, 2, 3, 3, 3), (1, 8, 2, 4, 8), 1, 1),
}


def module(form: str) -> str:
    op, *shapes, dilation, stride = FORMS[form]
    rank = 3 if form == "volume" else 2
    given, filters, output = (f"tensor<{'x'.join(map(str, s))}xf32>" for s in shapes)
    steps = ", ".join(
        f"{what} = dense<{value}> : tensor<{rank}xi64>"
        for what, value in (("dilations", dilation), ("strides", stride))
    )
    return f"""func.func @conv(%a: {given}, %b: {filters}) -> {output} {{
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : {output}
  %f = linalg.fill ins(%z : f32) outs(%e : {output}) -> {output}
  %r = linalg.conv_{rank}d_{op} {{{steps}}}
    ins(%a, %b : {given}, {filters}) outs(%f : {output}) -> {output}
  return %r : {output}
}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_what_is_unrolled_is_right(form: str, tmp_path: Path) -> None:
    file = tmp_path / "conv.mlir"
    file.write_text(module(form))
    result = frontrunner.tune(
        file, pipeline="UnrolledWindow", ranker="shuffle", budget=6, pool=200, quiet=True
    )
    assert result.outcomes == {"ok": 6}


def test_those_that_the_compiler_vectorises_are_not_unrolled(tmp_path: Path) -> None:
    file = tmp_path / "conv.mlir"
    file.write_text(module("grouped").replace("x2x4x", "x1x4x").replace("<2x4x4", "<1x4x4"))
    with pytest.raises(InputError, match="UnrolledWindow"):
        frontrunner.tune(file, pipeline="UnrolledWindow", budget=2, quiet=True)
