"""Grouped, depthwise and 3-d convolutions with an unrolled window: compiled, run and verified."""

from __future__ import annotations

from pathlib import Path

import pytest

import frontrunner
from frontrunner.core import InputError

pytestmark = pytest.mark.usefixtures("brief", "untracked", "own_folder")

# Op, input, filter, output, dilation and stride.
FORMS = {
    "grouped": ("ngchw_gfchw", (1, 2, 4, 10, 10), (2, 4, 4, 3, 3), (1, 2, 4, 8, 8), 1, 1),
    "dilated, strided": ("ngchw_gfchw", (1, 2, 4, 26, 26), (2, 4, 4, 3, 3), (1, 2, 4, 8, 8), 2, 3),
    "batch": ("ngchw_gfchw", (3, 2, 4, 10, 10), (2, 4, 4, 3, 3), (3, 2, 4, 8, 8), 1, 1),
    "channels last": ("nhwgc_gfhwc", (1, 10, 10, 2, 4), (2, 8, 3, 3, 4), (1, 8, 8, 2, 8), 1, 1),
    "one row": ("ngchw_gfchw", (1, 2, 4, 8, 12), (2, 4, 4, 1, 5), (1, 2, 4, 8, 8), 1, 1),
    "volume": ("ncdhw_fcdhw", (1, 2, 4, 6, 10), (8, 2, 3, 3, 3), (1, 8, 2, 4, 8), 1, 1),
    "depthwise": ("nchw_chw", (1, 16, 14, 22), (16, 7, 7), (1, 16, 8, 16), 1, 1),
    "depthwise, all three": ("nchw_chw", (3, 16, 26, 26), (16, 3, 3), (3, 16, 8, 8), 2, 3),
    "depthwise line": ("ncw_cw", (1, 16, 40), (16, 9), (1, 16, 32), 1, 1),
    "depthwise volume": ("ncdhw_cdhw", (1, 8, 4, 6, 10), (8, 3, 3, 3), (1, 8, 2, 4, 8), 1, 1),
}


def module(form: str) -> str:
    op, *shapes, dilation, stride = FORMS[form]
    rank = len(shapes[2]) - (3 if "g" in op else 2)
    prefix = "depthwise_" if "depthwise" in form else ""
    given, filters, output = (f"tensor<{'x'.join(map(str, s))}xf32>" for s in shapes)
    steps = ", ".join(
        f"{what} = dense<{value}> : tensor<{rank}xi64>"
        for what, value in (("dilations", dilation), ("strides", stride))
    )
    return f"""func.func @conv(%a: {given}, %b: {filters}) -> {output} {{
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : {output}
  %f = linalg.fill ins(%z : f32) outs(%e : {output}) -> {output}
  %r = linalg.{prefix}conv_{rank}d_{op} {{{steps}}}
    ins(%a, %b : {given}, {filters}) outs(%f : {output}) -> {output}
  return %r : {output}
}}
"""


# A bias, and channels last, as in a ConvNeXt: fused to the products, and run in another order.
FOLLOWED = """  %t = tensor.empty() : tensor<1x8x16x16xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(n, h, w, c) -> (n, c, h, w)>,
      affine_map<(n, h, w, c) -> (c)>, affine_map<(n, h, w, c) -> (n, h, w, c)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%r, %c : tensor<1x16x8x16xf32>, tensor<16xf32>) outs(%t : tensor<1x8x16x16xf32>) {
  ^bb0(%x: f32, %bias: f32, %out: f32):
    %y = arith.addf %x, %bias : f32
    linalg.yield %y : f32
  } -> tensor<1x8x16x16xf32>
  return %s : tensor<1x8x16x16xf32>
"""


@pytest.mark.slow
def test_what_follows_is_in_the_same_loops(tmp_path: Path) -> None:
    text = module("depthwise").replace(") -> tensor", ", %c: tensor<16xf32>) -> tensor", 1)
    text = text.replace("-> tensor<1x16x8x16xf32> {\n", "-> tensor<1x8x16x16xf32> {\n", 1)
    text = text.replace("  return %r : tensor<1x16x8x16xf32>\n", FOLLOWED)
    file = tmp_path / "conv.mlir"
    file.write_text(text)
    result = frontrunner.tune(file, pipeline="UnrolledWindow", budget=3, pool=200, quiet=True)
    assert result.outcomes == {"ok": 3}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_what_is_unrolled_is_right(form: str, tmp_path: Path) -> None:
    file = tmp_path / "conv.mlir"
    file.write_text(module(form))
    result = frontrunner.tune(
        file, pipeline="UnrolledWindow", ranker="shuffle", budget=3, pool=200, quiet=True
    )
    assert result.outcomes == {"ok": 3}


def test_those_that_the_compiler_vectorises_are_not_unrolled(tmp_path: Path) -> None:
    file = tmp_path / "conv.mlir"
    file.write_text(module("grouped").replace("x2x4x", "x1x4x").replace("<2x4x4", "<1x4x4"))
    with pytest.raises(InputError, match="UnrolledWindow"):
        frontrunner.tune(file, pipeline="UnrolledWindow", budget=2, quiet=True)
