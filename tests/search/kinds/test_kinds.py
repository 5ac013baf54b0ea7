"""A kind is one class: one that is defined here is read, enumerated, rendered and matched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from frontrunner.core import NotTunableError
from frontrunner.search import (
    Dispatch,
    Kind,
    Problem,
    TuningSpec,
    build_spaces,
    kind,
    kind_of,
    known_kinds,
    spec_of,
    target_flags,
)
from frontrunner.search.enumeration import sample
from frontrunner.search.mlir import build_problem, compile_with_spec, match_whole_op, spec_text
from frontrunner.search.reading import dispatch_inspection, read_dispatch
from frontrunner.search.reading.dispatches import parse_signature


def test_the_loop_of_an_images_dim_is_not_the_windows(dispatch: Callable[[str], Dispatch]) -> None:
    problem = dispatch("conv_nhwc").problem
    image = problem.inputs[0]
    turned = replace(image, index=tuple(terms[::-1] for terms in image.index))
    assert turned != image
    loops = problem.walking_loops(image)
    assert problem.walking_loops(turned) == loops
    assert [problem.dims[i].name for i in loops] == ["batch", "oh", "ow", "ic"]


ROW_SUMS = """
#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d0)>
func.func @sums(%a: tensor<96x512xf32>) -> tensor<96xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<96xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<96xf32>) -> tensor<96xf32>
  %r = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "reduction"]}
    ins(%a : tensor<96x512xf32>) outs(%f : tensor<96xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  } -> tensor<96xf32>
  return %r : tensor<96xf32>
}
"""
DATA = Path(__file__).parents[2] / "data"


class RowSums(Kind):
    name = "row_sums"
    plural = "sums of rows"
    matched_whole = True

    def read(self, root: Any) -> Problem | None:
        from iree.compiler import ir
        from iree.compiler.dialects import linalg

        if root.name != "linalg.generic":
            return None
        maps = [ir.AffineMapAttr(m).value for m in linalg.get_indexing_maps(root)]
        row = ir.AffineMap.get(2, 0, [ir.AffineDimExpr.get(0)])
        body = [op.operation.name for op in root.regions[0].blocks[0].operations]
        if maps != [ir.AffineMap.get_identity(2), row] or body != ["arith.addf", "linalg.yield"]:
            return None
        tensors = list(zip(("lhs", "out"), maps, list(root.operands), strict=True))
        return build_problem(self.name, root, tensors, {0: ("m", "m"), 1: ("k", "k")})

    def match(self, spec: TuningSpec, op: Any) -> None:
        match_whole_op(op, spec.root, spec.problem)

    def cpu_pipelines(self, problem: Problem) -> tuple[str, ...]:
        return ("DoubleTilingExpert",)

    def flops(self, problem: Problem) -> int:
        return problem.points


@pytest.fixture
def row_sums(monkeypatch: pytest.MonkeyPatch) -> Iterator[Kind]:
    toy = RowSums()
    monkeypatch.setattr(kind, "load_named_values", lambda *_: [toy])
    known_kinds.cache_clear()
    yield toy
    known_kinds.cache_clear()


def read(text: str) -> Dispatch:
    """As `read_dispatch` does, but in this process, which knows the kind."""
    request = {"name": "x", "text": text.encode(), "target": "host", "flags": target_flags("host")}
    answer = dispatch_inspection.read(request)
    inputs, outputs = parse_signature(answer["declaration"])
    names = ("problem", "target", "source", "function", "default", "indexing_maps", "root")
    return Dispatch(inputs=inputs, outputs=outputs, **{name: answer[name] for name in names})


def test_without_it_one_that_comes_with_the_package_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "sums.mlir"
    path.write_text(ROW_SUMS)
    assert read_dispatch(path).problem.kind == "generic"


def test_all_are_named_where_none_reads_an_op() -> None:
    with pytest.raises(NotTunableError) as caught:
        read_dispatch(DATA / "bad_softmax.mlir")
    assert caught.value.hint == (
        "frontrunner tunes attention, contractions, convolutions "
        "and generic ops (reductions, elementwise)"
    )


def test_a_kind_from_outside(row_sums: Kind, tmp_path: Path) -> None:
    dispatch = read(ROW_SUMS)
    problem = dispatch.problem
    assert (problem.kind, kind_of(problem)) == ("row_sums", row_sums)
    assert [(d.name, d.size, d.parallel) for d in problem.dims] == [
        ("m", 96, True),
        ("k", 512, False),
    ]
    assert problem.flops == 96 * 512 and row_sums.terms_per_output(problem) == 512
    (space,) = build_spaces(dispatch)
    candidates = sample(space, 200, seed=0)
    assert len(candidates) == 200
    applied = []
    for row in candidates.head(6).to_dict("records"):
        path = tmp_path / "spec.mlir"
        path.write_text(spec_text(spec_of(dispatch, space.render(row))))
        executable, matched = compile_with_spec(dispatch.source, dispatch.target.flags, path)
        applied.append(bool(matched))
        assert executable
    assert all(applied)


def test_those_that_come_with_the_package() -> None:
    assert list(known_kinds()) == ["attention", "contraction", "convolution", "generic"]
    for name, one in known_kinds().items():
        assert one.name == name and one.__module__ == f"frontrunner.search.kinds.{name}"


@pytest.mark.parametrize(
    ("name", "flops", "terms", "first"),
    [
        ("matmul", lambda s: 2 * s["m"] * s["n"] * s["k"], lambda s: s["k"], None),
        (
            "attention",
            lambda s: 2 * s["batch"] * s["m"] * s["k2"] * (s["k1"] + s["n"]),
            lambda s: s["k1"] + s["k2"],
            "k1",
        ),
    ],
)
def test_what_is_counted(name: str, flops: Any, terms: Any, first: str | None) -> None:
    problem = read_dispatch(DATA / f"{name}.mlir").problem
    sizes = {d.name: d.size for d in problem.dims}
    assert problem.flops == flops(sizes)
    assert kind_of(problem).terms_per_output(problem) == terms(sizes)
    assert kind_of(problem).first_reduction == first


GENERIC = """
func.func @main(%x: tensor<LHS>, %y: tensor<RHS>) -> tensor<OUT> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<OUT>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<OUT>) -> tensor<OUT>
  %z = linalg.generic {
      indexing_maps = [affine_map<LOOPS -> (LHS_AT)>, affine_map<LOOPS -> (RHS_AT)>,
                       affine_map<LOOPS -> (OUT_AT)>],
      iterator_types = [KINDS]}
      ins(%x, %y : tensor<LHS>, tensor<RHS>) outs(%init : tensor<OUT>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<OUT>
  return %z : tensor<OUT>
}
"""


def generic(loops: str, parallel: int, *operands: tuple[str, str]) -> str:
    """A sum of products over loops, of which the first ones are parallel."""
    count = loops.count(",") + 1
    kinds = ['"parallel"'] * parallel + ['"reduction"'] * (count - parallel)
    text = GENERIC.replace("LOOPS", f"({loops})").replace("KINDS", ", ".join(kinds))
    for name, (at, shape) in zip(("LHS", "RHS", "OUT"), operands, strict=True):
        text = text.replace(f"{name}_AT", at).replace(f"<{name}>", f"<{shape}xf32>")
    return text


def test_a_convolution_whose_image_is_stored_the_other_way_round_is_matched(tmp_path: Path) -> None:
    """With other dilations of columns than of rows: the matcher wants these as loops follow."""
    text = generic(
        "n, oh, ow, oc, fh, fw, ic", 4,
        ("n, ow + fw * 2, oh + fh, ic", "1x20x18x16"), ("fh, fw, ic, oc", "3x3x16x32"),
        ("n, oh, ow, oc", "1x16x16x32"),
    )  # fmt: skip
    dispatch = read(text)
    space = build_spaces(dispatch)[0]
    (candidate,) = sample(space, 1, 0).to_dict("records")
    path = tmp_path / "spec.mlir"
    path.write_text(spec_text(spec_of(dispatch, space.render(candidate))))
    assert compile_with_spec(dispatch.source, dispatch.target.flags, path)[1]


def test_products_whose_batch_is_contiguous_have_candidates() -> None:
    """Batch loops have vectors of one, which fill none."""
    text = generic(
        "m, n, b, k", 3,
        ("m, k, b", "64x96x32"), ("k, n, b", "96x48x32"), ("m, n, b", "64x48x32"),
    )  # fmt: skip
    for space in build_spaces(read(text)):
        assert len(sample(space, 8, 0)) == 8
