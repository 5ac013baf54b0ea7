"""What a spec's matchers match in a model, told one by one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from frontrunner.search import Dispatch, spec_of
from frontrunner.search.linking import link_specs
from frontrunner.search.linking.matches import find_break, find_matches
from frontrunner.search.mlir import spec_text
from frontrunner.search.reading.networks import read_network

DATA = Path(__file__).parents[2] / "data"


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


def test_a_spec_that_breaks_a_model_under_other_flags_is_told(
    dispatch: Callable[[str], Dispatch], tmp_path: Path
) -> None:
    """It matches the product of tiled operands, too, and the compiler cannot do what it says."""
    given, spec = dispatch("matmul"), tmp_path / "spec.mlir"
    spec.write_text(spec_text(spec_of(given, given.default)))
    linked = link_specs([spec])
    flags = ("--iree-opt-data-tiling",)
    plain, tiled = (read_network(DATA / "matmul.mlir", iree_flags=f) for f in ((), flags))
    assert find_break(plain, linked) == ""
    assert "failed to build pass pipeline" in find_break(tiled, linked)
