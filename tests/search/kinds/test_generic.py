"""Reductions and elementwise ops are read and configured, where nothing else is tuned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from frontrunner.core import NotTunableError
from frontrunner.search import Dispatch, build_spaces, spec_of
from frontrunner.search.enumeration import sample
from frontrunner.search.mlir import compile_with_spec, spec_text
from frontrunner.search.reading import read_dispatch

DATA = Path(__file__).parents[2] / "data"
TRANSPOSE = """
func.func @transpose(%x: tensor<96x40xf32>) -> tensor<40x96xf32> {
  %e = tensor.empty() : tensor<40x96xf32>
  %r = linalg.transpose ins(%x : tensor<96x40xf32>) outs(%e : tensor<40x96xf32>)
    permutation = [1, 0]
  return %r : tensor<40x96xf32>
}
"""
# As im2col copies windows.
WINDOWS = """
#windows = affine_map<(d0, d1, d2) -> (d0, d1 + d2 * 2)>
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
func.func @windows(%x: tensor<8x65xf32>) -> tensor<8x3x32xf32> {
  %e = tensor.empty() : tensor<8x3x32xf32>
  %r = linalg.generic {indexing_maps = [#windows, #all],
                       iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%x : tensor<8x65xf32>) outs(%e : tensor<8x3x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<8x3x32xf32>
  return %r : tensor<8x3x32xf32>
}
"""
NEXT_TO_EACH_OTHER = WINDOWS.replace("d2 * 2", "d2").replace("8x65", "8x34")
# Rows less what is given for each; {start} and {end} may make one dispatch with more of it.
SHIFTED = """
#rows = affine_map<(d0, d1) -> (d0)>
#all = affine_map<(d0, d1) -> (d0, d1)>
func.func @shifted(%x: tensor<64x96xf32>, %shift: tensor<64xf32>, %b: tensor<96x32xf32>)
    -> {out} {{
  %e0 = tensor.empty() : tensor<64x96xf32>
  {start}
  %shifted = linalg.generic {{indexing_maps = [#all, #rows, #all],
                              iterator_types = ["parallel", "parallel"]}}
    ins(%x, %shift : tensor<64x96xf32>, tensor<64xf32>) outs(%e0 : tensor<64x96xf32>) {{
  ^bb0(%a: f32, %s: f32, %o: f32):
    %d = arith.subf %a, %s : f32
    linalg.yield %d : f32
  }} -> tensor<64x96xf32>
  {end}
}}
"""
ALONE = SHIFTED.format(out="tensor<64x96xf32>", start="", end="return %shifted : tensor<64x96xf32>")
IN_PRODUCT = SHIFTED.format(
    out="tensor<64x32xf32>",
    start="""%zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x32xf32>
  %r = flow.dispatch.region -> (tensor<64x32xf32>) {""",
    end="""%f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x32xf32>) -> tensor<64x32xf32>
    %p = linalg.matmul ins(%shifted, %b : tensor<64x96xf32>, tensor<96x32xf32>)
      outs(%f : tensor<64x32xf32>) -> tensor<64x32xf32>
    flow.return %p : tensor<64x32xf32>
  }
  return %r : tensor<64x32xf32>""",
)
# Each is a dispatch.
PRODUCT_AND_SUMS = """
func.func @both(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %x: tensor<96x100xf32>)
    -> (tensor<64x64xf32>, tensor<96xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %product = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>)
    outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  %e1 = tensor.empty() : tensor<96xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<96xf32>) -> tensor<96xf32>
  %sums = linalg.reduce { arith.addf } ins(%x : tensor<96x100xf32>) outs(%f1 : tensor<96xf32>)
    dimensions = [1]
  return %product, %sums : tensor<64x64xf32>, tensor<96xf32>
}
"""
# As of max_of_rows.mlir, but that each row has something taken from it.
VARIANCES = """
#all = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>
func.func @variances(%x: tensor<96x100xf32>, %mean: tensor<96xf32>) -> tensor<96xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<96xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<96xf32>) -> tensor<96xf32>
  %r = linalg.generic {indexing_maps = [#all, #rows, #rows],
                       iterator_types = ["parallel", "reduction"]}
    ins(%x, %mean : tensor<96x100xf32>, tensor<96xf32>) outs(%f : tensor<96xf32>) {
  ^bb0(%value: f32, %m: f32, %sum: f32):
    %d = arith.subf %value, %m : f32
    %square = arith.mulf %d, %d : f32
    %more = arith.addf %square, %sum : f32
    linalg.yield %more : f32
  } -> tensor<96xf32>
  return %r : tensor<96xf32>
}
"""
SUM_OF_ALL = """
func.func @sum(%x: tensor<1000xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %r = linalg.reduce { arith.addf } ins(%x : tensor<1000xf32>) outs(%f : tensor<f32>)
    dimensions = [0]
  return %r : tensor<f32>
}
"""
TWO_SUMS = """
func.func @sums(%x: tensor<96x100xf32>, %y: tensor<32x64xf32>) -> (tensor<96xf32>, tensor<32xf32>) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<96xf32>
  %e1 = tensor.empty() : tensor<32xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<96xf32>) -> tensor<96xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<32xf32>) -> tensor<32xf32>
  %r0 = linalg.reduce { arith.addf } ins(%x : tensor<96x100xf32>) outs(%f0 : tensor<96xf32>)
    dimensions = [1]
  %r1 = linalg.reduce { arith.addf } ins(%y : tensor<32x64xf32>) outs(%f1 : tensor<32xf32>)
    dimensions = [1]
  return %r0, %r1 : tensor<96xf32>, tensor<32xf32>
}
"""
# Sums of rows divide shorter ones, as in attention.
DIVIDED = """
#all = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>
func.func @divided(%x: tensor<96x100xf32>, %y: tensor<96x8xf32>) -> tensor<96x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<96xf32>
  %e1 = tensor.empty() : tensor<96x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<96xf32>) -> tensor<96xf32>
  %r = flow.dispatch.region -> (tensor<96x8xf32>) {
    %sums = linalg.generic {indexing_maps = [#all, #rows],
                            iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<96x100xf32>) outs(%f : tensor<96xf32>) {
    ^bb0(%a: f32, %sum: f32):
      %more = arith.addf %a, %sum : f32
      linalg.yield %more : f32
    } -> tensor<96xf32>
    %d = linalg.generic {indexing_maps = [#all, #rows, #all],
                         iterator_types = ["parallel", "parallel"]}
      ins(%y, %sums : tensor<96x8xf32>, tensor<96xf32>) outs(%e1 : tensor<96x8xf32>) {
    ^bb0(%a: f32, %s: f32, %o: f32):
      %q = arith.divf %a, %s : f32
      linalg.yield %q : f32
    } -> tensor<96x8xf32>
    flow.return %d : tensor<96x8xf32>
  }
  return %r : tensor<96x8xf32>
}
"""
COLUMNS = """
func.func @columns(%x: tensor<100x96xf32>) -> tensor<96xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<96xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<96xf32>) -> tensor<96xf32>
  %r = linalg.reduce { arith.addf } ins(%x : tensor<100x96xf32>) outs(%f : tensor<96xf32>)
    dimensions = [0]
  return %r : tensor<96xf32>
}
"""

pytestmark = pytest.mark.usefixtures("warm")


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], Dispatch]:
    def read(text: str) -> Dispatch:
        path = tmp_path / "given.mlir"
        path.write_text(text)
        return read_dispatch(path)

    return read


def applied(spec: str, source: str, flags: tuple[str, ...], folder: Path) -> bool:
    """Whether a spec configures anything; it compiles in any case."""
    path = folder / "spec.mlir"
    path.write_text(spec)
    executable, matched = compile_with_spec(source, flags, path)
    assert executable
    return bool(matched)


def some_spec(dispatch: Dispatch) -> str:
    (space,) = build_spaces(dispatch)
    (row,) = sample(space, 1, seed=0).to_dict("records")
    return spec_text(spec_of(dispatch, space.render(row)))


@pytest.mark.parametrize(
    ("text", "dims", "fused"),
    [
        ((DATA / "max_of_rows.mlir").read_text(), [("m", 96, True), ("k", 100, False)], 0),
        ((DATA / "norm.mlir").read_text(), [("m", 96, True), ("k", 100, False)], 1),
        ((DATA / "elementwise.mlir").read_text(), [("n", 4096, True)], 0),
        (TRANSPOSE, [("m0", 96, True), ("m1", 40, True)], 0),
        (COLUMNS, [("n", 96, True), ("k", 100, False)], 0),
        (WINDOWS, [("m0", 8, True), ("m1", 3, True), ("m2", 32, True)], 0),
        (NEXT_TO_EACH_OTHER, [("m0", 8, True), ("m1", 3, True), ("n", 32, True)], 0),
    ],
)  # fmt: skip
def test_candidates_are_applied(
    read: Callable[[str], Dispatch], text: str, dims: list[object], fused: int, tmp_path: Path
) -> None:
    dispatch = read(text)
    problem = dispatch.problem
    assert problem.kind == "generic" and problem.flops == 2 * problem.points
    assert [(d.name, d.size, d.parallel) for d in problem.dims] == dims
    assert len(problem.fused) == fused
    (space,) = build_spaces(dispatch)
    assert space.default is not None
    rows = sample(space, 2, seed=0).to_dict("records")
    configurations = [space.render(row) for row in [*rows, dict(space.default)]]
    assert all(
        applied(spec_text(spec_of(dispatch, one)), dispatch.source, dispatch.target.flags, tmp_path)
        for one in configurations
    )


def test_what_is_part_of_something_else_is_left_alone(
    read: Callable[[str], Dispatch], tmp_path: Path
) -> None:
    alone, product = read(ALONE), read(IN_PRODUCT)
    assert [(d.name, d.size) for d in alone.problem.dims] == [("m", 64), ("n", 96)]
    # Both ops are in one dispatch, where this one is of the same types.
    assert product.problem.kind == "contraction" and "linalg.generic" in product.problem.fused
    spec = some_spec(alone)
    assert applied(spec, alone.source, alone.target.flags, tmp_path)
    assert not applied(spec, product.source, product.target.flags, tmp_path)


def test_ops_with_more_inputs_are_others(read: Callable[[str], Dispatch], tmp_path: Path) -> None:
    alone = read_dispatch(DATA / "max_of_rows.mlir")
    spec = some_spec(alone)
    variances = read(VARIANCES)
    assert [o.dtype for o in variances.problem.inputs] == ["f32", "f32"]
    assert not applied(spec, variances.source, variances.target.flags, tmp_path)


def test_what_is_fused_to_it_makes_it_another(tmp_path: Path) -> None:
    """Large tiles compile without it alone."""
    dispatches = [read_dispatch(DATA / name) for name in ("max_of_rows.mlir", "norm.mlir")]
    assert dispatches[0].problem.operands == dispatches[1].problem.operands
    for one in dispatches:
        spec = some_spec(one)
        for other in dispatches:
            found = applied(spec, other.source, other.target.flags, tmp_path)
            assert found == (one is other)


def test_rows_of_what_is_fused_limit_tiles(read: Callable[[str], Dispatch]) -> None:
    """Not those of the reduction."""
    assert dict(read_dispatch(DATA / "norm.mlir").problem.traits)["fused_row"] == 100
    divided = read(DIVIDED).problem
    assert (len(divided.fused), dict(divided.traits)["fused_row"]) == (1, 8)
    rows = [
        row["vec_m"] for row in sample(build_spaces(read(DIVIDED))[0], 200, 0).to_dict("records")
    ]
    long = read(DIVIDED.replace("96x8xf32", "96x2000xf32"))
    short = [row["vec_m"] for row in sample(build_spaces(long)[0], 200, 0).to_dict("records")]
    assert max(rows) > max(short)


def test_what_is_no_reduction_of_rows_is_not_tuned(read: Callable[[str], Dispatch]) -> None:
    with pytest.raises(NotTunableError):
        read(SUM_OF_ALL)


RESHAPED = "%t = tensor.expand_shape %sums [[0, 1]] output_shape [8, 12] : {} into {}"


@pytest.mark.parametrize("reshaped", [False, True])
def test_sums_that_are_taken_elsewhere_too_are_not_tuned(
    read: Callable[[str], Dispatch], reshaped: bool
) -> None:
    """A matcher sees one of those who take them: none of 3 candidates was applied."""
    sums, rows = "tensor<8x12xf32>" if reshaped else "tensor<96xf32>", "tensor<96x8xf32>"
    text = DIVIDED.replace(f"-> {rows} {{\n  %zero", f"-> ({sums}, {rows}) {{\n  %zero")
    text = text.replace("%r = flow", "%r:2 = flow").replace(f"({rows}) {{", f"({sums}, {rows}) {{")
    reshape, value = (RESHAPED.format("tensor<96xf32>", sums), "%t") if reshaped else ("", "%sums")
    text = text.replace("flow.return %d :", f"{reshape}\n    flow.return {value}, %d : {sums},")
    text = text.replace("return %r :", f"return %r#0, %r#1 : {sums},")
    with pytest.raises(NotTunableError):
        read(text)


def test_of_two_reductions_each_is_to_have_its_file(read: Callable[[str], Dispatch]) -> None:
    with pytest.raises(NotTunableError) as caught:
        read(TWO_SUMS)
    assert "a file of its own" in caught.value.hint


def test_a_file_is_tuned_for_its_product(read: Callable[[str], Dispatch]) -> None:
    dispatch = read(PRODUCT_AND_SUMS)
    assert dispatch.problem.kind == "contraction"
    assert dispatch.others == ("linalg.generic (reduction)",)


def test_on_gpus_they_are_not_tuned() -> None:
    with pytest.raises(NotTunableError, match=r"linalg.generic \(reduction\)") as caught:
        read_dispatch(DATA / "max_of_rows.mlir", "sm_80")
    assert "reductions" not in caught.value.hint
