"""What a spec's matchers match in a model, told one by one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from frontrunner.search import SPEC_OPTION, Dispatch, spec_of
from frontrunner.search.linking import link_specs
from frontrunner.search.linking.matches import find_break, find_matches
from frontrunner.search.mlir import spec_text
from frontrunner.search.reading.networks import read_network

DATA = Path(__file__).parents[2] / "data"
TILED = ("--iree-opt-data-tiling",)
SUM = """
func.func @sum(%a: tensor<64x96xf32>, %b: tensor<96x128xf32>, %c: tensor<64x128xf32>)
    -> tensor<64x128xf32> {
  %d = linalg.matmul ins(%a, %b : tensor<64x96xf32>, tensor<96x128xf32>)
                     outs(%c : tensor<64x128xf32>) -> tensor<64x128xf32>
  return %d : tensor<64x128xf32>
}
"""
PAD = """
func.func @pad(%a: tensor<80x1000xf32>) -> tensor<80x1002xf32> {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %a low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<80x1000xf32> to tensor<80x1002xf32>
  return %padded : tensor<80x1002xf32>
}
"""


def test_each_matcher_is_told_what_it_matches(
    dispatch: Callable[[str], Dispatch], tmp_path: Path
) -> None:
    names = ["matmul", "attention", "conv_nhwc"]
    paths = [tmp_path / f"{name}.mlir" for name in names]
    for name, path in zip(names, paths, strict=True):
        given = dispatch(name)
        path.write_text(spec_text(spec_of(given, given.default)))
    linked = link_specs(paths)
    found = find_matches(read_network(DATA / "attention.mlir"), linked).by_matcher
    assert list(found) == list(linked.matchers)
    # The newest comes first.
    conv, attention, matmul = found.values()
    assert (conv, matmul) == ((), ())
    assert len(attention) == 1
    assert "attention" in attention[0]


def test_products_that_add_to_a_tensor_are_left_alone_too(
    dispatch: Callable[[str], Dispatch], tmp_path: Path
) -> None:
    given, spec, model = dispatch("matmul"), tmp_path / "spec.mlir", tmp_path / "model.mlir"
    model.write_text(SUM)
    spec.write_text(spec_text(spec_of(given, given.default)))
    linked = link_specs([spec])
    plain, tiled = (read_network(model, iree_flags=flags) for flags in ((), TILED))
    matched = [find_matches(one, linked).by_matcher for one in (plain, tiled)]
    assert [len(names) for found in matched for names in found.values()] == [1, 0]
    assert find_break(tiled, linked) == ""


@pytest.mark.parametrize("name", ["matmul", "matmul_fused"])
def test_products_that_data_tiling_lays_out_are_left_alone(
    name: str, dispatch: Callable[[str], Dispatch], tmp_path: Path
) -> None:
    """The compiler can make nothing else of them: with a configuration, the build would fail."""
    given, spec = dispatch(name), tmp_path / "spec.mlir"
    spec.write_text(spec_text(spec_of(given, given.default)))
    again = tmp_path / "again.mlir"
    again.write_text(link_specs([spec]).text)
    plain, tiled = (read_network(DATA / f"{name}.mlir", iree_flags=f) for f in ((), TILED))
    for path in (spec, again):
        linked = link_specs([path])
        assert len(linked.matchers) == 1
        matched = [find_matches(model, linked).by_matcher for model in (plain, tiled)]
        assert [len(names) for found in matched for names in found.values()] == [1, 0]
        assert [find_break(model, linked) for model in (plain, tiled)] == ["", ""]


def test_copies_in_memory_are_passed_over(
    dispatch: Callable[[str], Dispatch], tmp_path: Path
) -> None:
    """To ask who takes the result of one crashes the compiler."""
    model, spec = tmp_path / "pad.mlir", tmp_path / "spec.mlir"
    model.write_text(PAD)
    product = dispatch("matmul")
    spec.write_text(spec_text(spec_of(product, product.default)))
    network = read_network(model)
    assert "memcpy" in network.source
    tool, out = Path(sys.executable).with_name("iree-compile"), tmp_path / "pad.vmfb"
    given = [*network.target.flags, f"{SPEC_OPTION}={spec}"]
    done = subprocess.run([tool, model, *given, "-o", out], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_what_is_left_alone_is_told_once_of_several_specs(
    dispatch: Callable[[str], Dispatch], tmp_path: Path
) -> None:
    paths = [tmp_path / f"{name}.mlir" for name in ("matmul", "batch_matmul", "attention")]
    for path in paths:
        given = dispatch(path.stem)
        path.write_text(spec_text(spec_of(given, given.default)))
    linked = link_specs(paths)
    assert linked.dropped == linked.conflicts == ()
    assert len(linked.matchers) == 3
    # Matcher and action of each of the two, and where they are tried.
    assert linked.text.count("match_encoded_") == 4
    tried = linked.text[linked.text.index("foreach_match") :]
    assert tried.index("match_encoded_and_fused") < tried.index("match_contraction")


def test_a_spec_that_breaks_a_model_under_other_flags_is_told(
    dispatch: Callable[[str], Dispatch], tmp_path: Path
) -> None:
    """It matches a product that data tiling lays out, too, of which the compiler makes nothing."""
    given, spec = dispatch("matmul"), tmp_path / "spec.mlir"
    text = spec_text(spec_of(given, given.default))
    spec.write_text(text.replace("iree_encoding.unset_encoding", "another.op"))
    linked = link_specs([spec])
    plain, tiled = (read_network(DATA / "matmul.mlir", iree_flags=f) for f in ((), TILED))
    assert find_break(plain, linked) == ""
    broken = find_break(tiled, linked)
    assert "failed to build pass pipeline" in broken and "without the specs" not in broken


def test_a_model_that_compiles_no_better_without_the_specs_is_told(
    dispatch: Callable[[str], Dispatch], tmp_path: Path
) -> None:
    given, spec = dispatch("matmul"), tmp_path / "spec.mlir"
    spec.write_text(spec_text(spec_of(given, given.default)))
    flags = ("--iree-llvmcpu-embedded-linker-path=/nowhere",)
    model = read_network(DATA / "matmul.mlir", iree_flags=flags)
    assert find_break(model, link_specs([spec])).endswith("(nor does it without the specs)")
