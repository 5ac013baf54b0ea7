"""Dispatches whose sizes are only known when the model runs, with the compiler."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from frontrunner.search import DYNAMIC, build_spaces, spec_of, spec_texts
from frontrunner.search.enumeration import sample
from frontrunner.search.linking import find_matches, link_specs
from frontrunner.search.reading import InputShapes, Network, read_dispatch, read_network

DATA = Path(__file__).parents[2] / "data"
MODELS = DATA / "models"

pytestmark = pytest.mark.usefixtures("warm")

Shape = tuple[int, ...]


def read(path: Path, *calls: tuple[Shape | None, ...]) -> Network:
    return read_network(path, shapes=InputShapes(calls=calls))


def test_they_have_the_largest_of_their_sizes(tmp_path: Path) -> None:
    """Which the compiler computes: here, four times as many rows as the input has."""
    weights = (64, 96), (96, 128)
    calls = [((rows, 4, 64), *weights) for rows in (6, 10, 2)]
    first, second = read(MODELS / "dynamic_chain.mlir", *calls).dispatches
    for one, sizes in ((first, [40, 96, 64]), (second, [40, 128, 96])):
        file = tmp_path / "one.mlir"
        file.write_text(one.text)
        dispatch = read_dispatch(file)
        assert [dim.size for dim in dispatch.problem.dims] == sizes
        assert one.problem is not None
        assert [dim.matched_size for dim in one.problem.dims] == [DYNAMIC, *sizes[1:]]
        assert (one.dynamic, one.problem.dynamic) == (True, ("m",))
        assert "x".join(["?", *map(str, sizes[1:])]) in one.problem.label
        assert not one.one_size
    same = [((rows, 4, 64), *weights) for rows in (6, 6)]
    assert all(one.one_size for one in read(MODELS / "dynamic_chain.mlir", *same).dispatches)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (((8, 64), (64, 96)), ""),
        ((None, (64, 96)), "its sizes are only known when the model runs"),
        (((), (64, 96)), "its sizes are only known when the model runs"),
        (((8, 64),), "dynamic shapes"),
    ],
)
def test_sizes_that_are_not_given(call: tuple[Shape | None, ...], reason: str) -> None:
    (dispatch,) = read(MODELS / "dynamic.mlir", call).dispatches
    assert (dispatch.reason, bool(dispatch.text)) == (reason, not reason)


def test_sizes_that_depend_on_values(tmp_path: Path) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(OF_A_VALUE)
    (dispatch,) = read(path, ((), (64, 96))).dispatches
    assert (dispatch.text, dispatch.reason) == ("", "its sizes are only known when the model runs")


OF_A_VALUE = """
func.func @main(%n: tensor<i64>, %w: tensor<64x96xf32>) -> tensor<?x96xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %value = tensor.extract %n[] : tensor<i64>
  %rows = arith.index_cast %value : i64 to index
  %e = tensor.empty(%rows) : tensor<?x64xf32>
  %x = linalg.fill ins(%one : f32) outs(%e : tensor<?x64xf32>) -> tensor<?x64xf32>
  %f = tensor.empty(%rows) : tensor<?x96xf32>
  %g = linalg.fill ins(%zero : f32) outs(%f : tensor<?x96xf32>) -> tensor<?x96xf32>
  %y = linalg.matmul ins(%x, %w : tensor<?x64xf32>, tensor<64x96xf32>)
      outs(%g : tensor<?x96xf32>) -> tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}
"""


def dynamic(name: str, static: str, place: int) -> str:
    """A dispatch with a size that is only known when it runs: one dim of its first input's."""
    text = (DATA / f"{name}.mlir").read_text()
    given = text.partition("(")[2].partition(":")[0]
    *before, _ = static.split("x")
    text = text.replace(f"tensor<{static}x", f"tensor<{'x'.join([*before, '?'])}x")
    size = f"{{\n  %at = arith.constant {place} : index\n  %size = tensor.dim {given}, %at : "
    kind = text.partition(": ")[2].partition(">")[0] + ">"
    return text.replace("{", size + kind, 1).replace("tensor.empty()", "tensor.empty(%size)")


@pytest.mark.parametrize(
    ("name", "static", "place", "loop", "pipeline"),
    [
        ("matmul", "64", 0, "m", ""),
        ("batch_matmul", "4", 0, "batch", ""),
        ("conv_nhwc", "1", 0, "batch", ""),
        ("conv_grouped", "1", 0, "batch", "UnrolledWindow"),
        ("attention", "4x32", 1, "m", ""),
    ],
)
def test_their_specs_match_them(
    name: str, static: str, place: int, loop: str, pipeline: str, tmp_path: Path
) -> None:
    """And not the same with a static size, but for attention, which is matched by types."""
    path, file, spec = (tmp_path / f"{one}.mlir" for one in ("model", "dispatch", "spec"))
    path.write_text(dynamic(name, static, place))
    size = int(static.split("x")[-1])
    inputs = [list(one.shape) for one in read_dispatch(DATA / f"{name}.mlir").inputs]
    for shape in inputs:
        shape[place] = 8 if shape[place] == size else shape[place]
    model = read(path, tuple(map(tuple, inputs)))
    (one,) = (one for one in model.dispatches if one.problem is not None)
    file.write_text(one.text)
    alone = read_dispatch(file)
    assert alone.problem.dim(loop).size == 8
    config = alone.default
    if pipeline:
        (space,) = build_spaces(alone, pipeline)
        config = space.render(sample(space, 1, 0).to_dict("records")[0])
    for loops, matched in (([loop], [one.name]), ([], [])):
        problem = alone.problem.with_dynamic(loops)
        spec.write_text(spec_texts([spec_of(replace(alone, problem=problem), config)])[0])
        linked = link_specs([spec])
        assert [n for ns in find_matches(model, linked).by_matcher.values() for n in ns] == matched
        (static_matches,) = find_matches(read_network(file), linked).by_matcher.values()
        assert bool(static_matches) is (name == "attention" or not matched)
