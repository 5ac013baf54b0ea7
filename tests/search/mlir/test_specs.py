"""Specs are of the form that the compiler documents: golden files, and its own verifier.

Run this file to write the golden files anew.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from frontrunner.core import InputError
from frontrunner.search import Dispatch, TuningSpec, spec_of
from frontrunner.search.mlir import DEFAULT_FORM, compile_with_spec, spec_text
from frontrunner.search.reading import read_dispatch

DATA = Path(__file__).parents[2] / "data"
GOLDEN = DATA / "specs"

CPU = (
    "#iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<"
    "distribution = [{}], vector_common_parallel = [{}], vector_reduction = [{}]>, "
    "translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<{}>>>"
)
GPU = (
    "#iree_codegen.compilation_info<lowering_config = "
    "#iree_gpu.lowering_config<{workgroup = [1, 64, 0, 0, 0]}>, translation_info = "
    "#iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> "
    "workgroup_size = [64] subgroup_size = 64>>\n"
    "{pv_attrs = {attention_pv_matmul}, qk_attrs = {attention_qk_matmul}}"
)
CONFIGS = {
    "matmul": CPU.format("32, 64, 0", "8, 16, 0", "0, 0, 4", "DoubleTilingExpert"),
    "matmul_fused": CPU.format("32, 64, 0", "8, 16, 0", "0, 0, 4", "DoubleTilingExpert"),
    "conv_nhwc": CPU.format(
        "0, 4, 4, 8, 0, 0, 0", "1, 1, 4, 8, 0, 0, 0", "0, 0, 0, 0, 1, 1, 4",
        "ConvTileAndDecomposeExpert",
    ),
    "attention": GPU,
}  # fmt: skip


def golden_spec(dispatch: Dispatch, name: str) -> TuningSpec:
    comment = "Expected speedup: 1.50x." if name == "matmul" else ""
    return spec_of(dispatch, CONFIGS[name], comment)


def verify(path: Path) -> subprocess.CompletedProcess[str]:
    """What the compiler says of a spec."""
    tool = Path(sys.executable).with_name("iree-opt")
    return subprocess.run([tool, path], capture_output=True, text=True)


@pytest.mark.parametrize("name", CONFIGS)
def test_the_text_is_readable_and_stays(dispatch: Callable[[str], Dispatch], name: str) -> None:
    assert spec_text(golden_spec(dispatch(name), name)) == (GOLDEN / f"{name}.mlir").read_text()


@pytest.mark.parametrize("name", CONFIGS)
def test_the_compiler_verifies_them(name: str, tmp_path: Path) -> None:
    golden = GOLDEN / f"{name}.mlir"
    verified = verify(golden)
    assert verified.returncode == 0, verified.stderr
    # A pass that runs first is not of the documented form.
    assert (DEFAULT_FORM in golden.read_text()) == (name != "conv_nhwc")
    broken = tmp_path / "broken.mlir"
    broken.write_text(golden.read_text().replace("@__kernel_config", "@other"))
    if name != "conv_nhwc":
        assert "__kernel_config" in verify(broken).stderr


def test_one_that_is_configured_in_the_input_is_passed_over(
    dispatch: Callable[[str], Dispatch], tmp_path: Path
) -> None:
    given = dispatch("matmul")
    spec = tmp_path / "spec.mlir"
    spec.write_text(spec_text(spec_of(given, CONFIGS["matmul"])))
    own = f"linalg.matmul {{compilation_info = {given.default}}} ins("
    configured = given.source.replace("linalg.matmul ins(", own)
    assert configured != given.source
    flags = given.target.flags
    assert compile_with_spec(given.source, flags, spec)[1]
    assert not compile_with_spec(configured, flags, spec)[1]


@pytest.mark.parametrize("target", ["host", "gfx942"])
def test_attention_with_loops_in_another_order_is_another(target: str, tmp_path: Path) -> None:
    """The same operands; with the first one's tiles, the second one computed other values."""
    text = (DATA / "attention.mlir").read_text()
    usual, other = tmp_path / "usual.mlir", tmp_path / "other.mlir"
    usual.write_text(text)
    other.write_text(text.replace("(b, m, n, k1, k2) ->", "(b, m, k1, k2, n) ->"))
    first, second = read_dispatch(usual, target), read_dispatch(other, target)
    assert [o.dtype for o in first.problem.operands] == [o.dtype for o in second.problem.operands]
    spec = tmp_path / "spec.mlir"
    spec.write_text(spec_of(first, first.default).text())
    for dispatch, matches in ((first, 1), (second, 0)):
        _, applied = compile_with_spec(dispatch.source, dispatch.target.flags, spec)
        assert len(applied) == matches


_SUMS = """#all = affine_map<(i, j) -> (i, j)>
#rows = affine_map<(i, j) -> (i)>
#own = affine_map<(i) -> (i)>
func.func @sums(%a: tensor<48x64xf32>) -> tensor<{out}xf32> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<48xf32>
  %to = tensor.empty() : tensor<{out}xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48xf32>) -> tensor<48xf32>
  %s = linalg.generic {{indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]}}
      ins(%a : tensor<48x64xf32>) outs(%f : tensor<48xf32>) {{
    ^bb0(%x: f32, %y: f32):
      %q = arith.addf %x, %y : f32
      linalg.yield %q : f32
  }} -> tensor<48xf32>
  {fused}
  return %t : tensor<{out}xf32>
}}"""
_OF_SUMS = """%t = linalg.generic {indexing_maps = [#own, #own], iterator_types = ["parallel"]}
      ins(%s : tensor<48xf32>) outs(%to : tensor<48xf32>) {
    ^bb0(%x: f32, %y: f32):
      %r = math.rsqrt %x : f32
      linalg.yield %r : f32
  } -> tensor<48xf32>"""
_OF_ALL = """%t = linalg.generic {
        indexing_maps = [#all, #rows, #all], iterator_types = ["parallel", "parallel"]}
      ins(%a, %s : tensor<48x64xf32>, tensor<48xf32>) outs(%to : tensor<48x64xf32>) {
    ^bb0(%x: f32, %u: f32, %y: f32):
      %r = math.rsqrt %u : f32
      %p = arith.mulf %x, %r : f32
      linalg.yield %p : f32
  } -> tensor<48x64xf32>"""


def test_what_is_fused_to_a_reduction_is_no_larger_than_it_was(tmp_path: Path) -> None:
    """With tiles that suit a few results, whole rows were vectors that did not compile."""
    few, rows = tmp_path / "few.mlir", tmp_path / "rows.mlir"
    few.write_text(_SUMS.format(out="48", fused=_OF_SUMS))
    rows.write_text(_SUMS.format(out="48x64", fused=_OF_ALL))
    first, second = read_dispatch(few), read_dispatch(rows)
    spec = tmp_path / "spec.mlir"
    for given, expected in ((first, (1, 0)), (second, (1, 1))):
        spec.write_text(spec_of(given, given.default).text())
        for dispatch, matches in zip((first, second), expected, strict=True):
            _, applied = compile_with_spec(dispatch.source, dispatch.target.flags, spec)
            assert len(applied) == matches


@pytest.mark.parametrize("config", ["tile = 8", "#iree_codegen.nothing<", "", "{}\nx"])
def test_what_is_no_attribute_is_refused(dispatch: Callable[[str], Dispatch], config: str) -> None:
    with pytest.raises(InputError, match="no tuning spec can be made of a configuration") as caught:
        spec_of(dispatch("matmul"), config).text()
    assert "\n" not in str(caught.value)


def test_a_comment_is_one_line(dispatch: Callable[[str], Dispatch]) -> None:
    """It names devices, which may be of somebody else's results."""
    given = dispatch("matmul")
    plain = spec_text(spec_of(given, CONFIGS["matmul"]))
    told = spec_text(spec_of(given, CONFIGS["matmul"], "1.50x on\nmodule {}\r\nx"))
    assert told == f"// 1.50x on module {{}} x\n{plain}"


def test_maps_cannot_smuggle_anything_in(dispatch: Callable[[str], Dispatch]) -> None:
    given = dispatch("matmul")
    maps = (*given.indexing_maps[:2], f"{given.indexing_maps[2]}] transform.print %op")
    with pytest.raises(InputError, match="no tuning spec can be made"):
        spec_text(TuningSpec(given.problem, maps, CONFIGS["matmul"]))


if __name__ == "__main__":
    for stem in CONFIGS:
        text = spec_text(golden_spec(read_dispatch(DATA / f"{stem}.mlir"), stem))
        (GOLDEN / f"{stem}.mlir").write_text(text)
