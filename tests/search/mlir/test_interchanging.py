"""Specs that interchange a product's loops: as `iree-compile` applies them, alone and linked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from frontrunner.search import Dispatch, build_spaces, spec_of
from frontrunner.search.enumeration import sample
from frontrunner.search.interchanged import PIPELINE
from frontrunner.search.linking import find_break, find_matches, link_specs
from frontrunner.search.mlir import compile_with_spec, spec_text
from frontrunner.search.reading import read_network

DATA = Path(__file__).parents[2] / "data"
Read = Callable[[str], Dispatch]

pytestmark = pytest.mark.usefixtures("warm")


def interchanged(dispatch: Dispatch, seed: int = 0) -> str:
    (space,) = build_spaces(dispatch, PIPELINE)
    (row,) = sample(space, 1, seed).to_dict("records")
    return spec_text(spec_of(dispatch, space.render(row)))


@pytest.mark.parametrize("seed", range(3))
def test_what_is_interchanged_is_compiled(dispatch: Read, seed: int, tmp_path: Path) -> None:
    given = dispatch("conv_1x1_nchw")
    spec = tmp_path / "spec.mlir"
    spec.write_text(interchanged(given, seed))
    executable, applied = compile_with_spec(given.source, given.target.flags, spec)
    assert applied
    assert executable != compile_with_spec(given.source, given.target.flags, None)[0]


@pytest.mark.parametrize("name", ["matmul", "conv_1x1"])
def test_others_are_left_alone(dispatch: Read, name: str, tmp_path: Path) -> None:
    spec = tmp_path / "spec.mlir"
    spec.write_text(interchanged(dispatch("conv_1x1_nchw")))
    given = dispatch(name)
    plain = compile_with_spec(given.source, given.target.flags, None)[0]
    assert compile_with_spec(given.source, given.target.flags, spec) == (plain, ())


@pytest.mark.parametrize("results", [1, 2])
def test_what_data_tiling_lays_out_is_left_alone(
    dispatch: Read, results: int, tmp_path: Path
) -> None:
    source, spec = tmp_path / "model.mlir", tmp_path / "spec.mlir"
    text = (DATA / "conv_1x1_nchw.mlir").read_text()
    if results > 1:  # the product, and what is fused to it
        of = "tensor<1x40x8x20xf32>"
        text = text.replace(f"-> {of} {{\n  %z", f"-> ({of}, {of}) {{\n  %z")
        text = text.replace(f"return %s : {of}", f"return %r, %s : {of}, {of}")
        assert text.count("%r, %s") == text.count(f"({of}, {of})") == 1
    source.write_text(text)
    model = read_network(source, iree_flags=("--iree-opt-data-tiling",))
    spec.write_text(interchanged(dispatch("conv_1x1_nchw")))
    linked = link_specs([spec])
    assert [*find_matches(model, linked).by_matcher.values()] == [()]
    assert find_break(model, linked) == ""
    spec.write_text(spec.read_text().replace("iree_encoding.unset_encoding", "another.op"))
    assert "failed to build pass pipeline" in find_break(model, link_specs([spec]))


def test_several_ops_that_forbid_it_are_no_error(dispatch: Read, tmp_path: Path) -> None:
    spec, given = tmp_path / "spec.mlir", dispatch("conv_1x1_nchw")
    several = "hal.interface.binding.subspan"
    assert given.source.count(several) > 1
    spec.write_text(interchanged(given).replace("iree_encoding.unset_encoding", several))
    plain = compile_with_spec(given.source, given.target.flags, None)[0]
    assert compile_with_spec(given.source, given.target.flags, spec) == (plain, ())


def test_they_are_linked_with_others(dispatch: Read, tmp_path: Path) -> None:
    moved, product = tmp_path / "moved.mlir", tmp_path / "product.mlir"
    moved.write_text(interchanged(dispatch("conv_1x1_nchw")))
    matmul = dispatch("matmul")
    product.write_text(spec_text(spec_of(matmul, matmul.default)))
    linked = link_specs([moved, product])
    for kernel, path in (("conv_1x1_nchw", moved), ("matmul", product)):
        model = read_network(DATA / f"{kernel}.mlir")
        found = find_matches(model, linked).by_matcher
        assert [who.endswith(str(path)) for who, matched in found.items() if matched] == [True]
        assert find_break(model, linked) == ""
