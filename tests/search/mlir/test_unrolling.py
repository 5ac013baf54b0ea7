"""Specs that unroll a convolution's window: as `iree-compile` applies them, alone and linked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from frontrunner.core import InputError
from frontrunner.search import Dispatch, build_spaces, spec_of
from frontrunner.search.enumeration import sample
from frontrunner.search.linking import find_break, find_matches, link_specs
from frontrunner.search.mlir import compile_with_spec, spec_text
from frontrunner.search.reading import read_network

DATA = Path(__file__).parents[2] / "data"
Read = Callable[[str], Dispatch]
UNROLLED = ("conv_grouped", "conv_depthwise_nchw")


def unrolled(dispatch: Dispatch, seed: int = 0) -> str:
    (space,) = build_spaces(dispatch, "UnrolledWindow")
    (row,) = sample(space, 1, seed).to_dict("records")
    return spec_text(spec_of(dispatch, space.render(row)))


def configured(dispatch: Dispatch, config: str) -> str:
    return spec_text(spec_of(dispatch, config))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", UNROLLED)
def test_what_is_unrolled_is_compiled(dispatch: Read, name: str, seed: int, tmp_path: Path) -> None:
    given = dispatch(name)
    spec = tmp_path / "spec.mlir"
    spec.write_text(unrolled(given, seed))
    executable, applied = compile_with_spec(given.source, given.target.flags, spec)
    assert applied
    assert executable != compile_with_spec(given.source, given.target.flags, None)[0]


@pytest.mark.parametrize("name", UNROLLED)
def test_others_are_left_alone(dispatch: Read, name: str, tmp_path: Path) -> None:
    spec = tmp_path / "spec.mlir"
    spec.write_text(unrolled(dispatch(name)))
    for other in {"conv_nchw", "matmul", *UNROLLED} - {name}:
        given = dispatch(other)
        plain = compile_with_spec(given.source, given.target.flags, None)[0]
        assert compile_with_spec(given.source, given.target.flags, spec) == (plain, ())


@pytest.mark.slow
@pytest.mark.parametrize(("name", "first"), [(UNROLLED[0], True), (UNROLLED[1], False)])
def test_they_are_linked_with_others(
    dispatch: Read, name: str, first: bool, tmp_path: Path
) -> None:
    window, product = tmp_path / "window.mlir", tmp_path / "product.mlir"
    window.write_text(unrolled(dispatch(name)))
    matmul = dispatch("matmul")
    product.write_text(configured(matmul, matmul.default))
    linked = link_specs([window, product] if first else [product, window])
    for kernel, path in ((name, window), ("matmul", product)):
        model = read_network(DATA / f"{kernel}.mlir")
        found = find_matches(model, linked).by_matcher
        assert {who.rpartition(" of ")[2] for who, matched in found.items() if matched} == {
            str(path)
        }
        assert find_break(model, linked) == ""
    together = tmp_path / "together.mlir"
    together.write_text(linked.text)
    again = link_specs([together, window])
    assert len(again.matchers) == 2
    assert len(again.dropped) == 1
    assert not again.conflicts


def test_the_newer_one_wins_whether_it_unrolls_or_not(dispatch: Read, tmp_path: Path) -> None:
    given = dispatch("conv_grouped")
    window, plain = tmp_path / "window.mlir", tmp_path / "plain.mlir"
    window.write_text(unrolled(given))
    plain.write_text(configured(given, given.default))
    for older, newer in ((window, plain), (plain, window)):
        linked = link_specs([older, newer])
        assert len(linked.matchers) == 1
        assert linked.matchers[0].endswith(str(newer))
        (conflict,) = linked.conflicts
        assert f"of {older} is overridden by" in conflict
        assert ("unroll_window" in linked.text) == (newer == window)


def test_an_entry_point_that_includes_something_else(dispatch: Read, tmp_path: Path) -> None:
    spec = tmp_path / "spec.mlir"
    text = unrolled(dispatch("conv_grouped"))
    included = "transform.include @unroll_window"
    assert text.count(included) == 1
    other = (
        "  transform.named_sequence @other(%op: !transform.any_op {transform.readonly}) {\n"
        "    transform.yield\n  }\n  transform.named_sequence @__kernel_config"
    )
    text = text.replace(included, "transform.include @other")
    spec.write_text(text.replace("  transform.named_sequence @__kernel_config", other))
    with pytest.raises(InputError, match="includes what collects nothing"):
        link_specs([spec])
