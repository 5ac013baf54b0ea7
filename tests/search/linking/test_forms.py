"""Specs as others write them: older documented forms, and those that the compiler comes with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from frontrunner.search import Dispatch, build_spaces, spec_of
from frontrunner.search.enumeration import sample
from frontrunner.search.linking import final_specs, find_matches, link_specs
from frontrunner.search.mlir import DEFAULT_FORM, spec_text
from frontrunner.search.reading import read_dispatch, read_network

DATA = Path(__file__).parents[2] / "data"
OLDER = """
module @users attributes { transform.with_named_sequence } {
transform.named_sequence @apply(%op: !transform.any_op {transform.readonly},
    %config: !transform.any_param {transform.readonly}) {
  transform.annotate %op "compilation_info" = %config : !transform.any_op, !transform.any_param
  transform.yield
}
transform.named_sequence @match(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param) {
MATCHES
  %config = transform.param.constant CONFIG -> !transform.any_param
  transform.yield %op, %config : !transform.any_op, !transform.any_param
}
transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed})
    -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
  %res = transform.foreach_match in %root @match -> @apply
    : (!transform.any_op) -> !transform.any_op
  transform.yield %res : !transform.any_op
}
}
"""
FORMS = {
    "operation_name": '  transform.match.operation_name %op ["OP"] : !transform.any_op',
    "cast_compatible_type": """
  transform.match.operation_name %op ["OP"] : !transform.any_op
  %lhs = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %lhs = tensor<?x96xf32> : !transform.any_value""",
    "cast_compatible_dag_from_root": """
  %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
  ^bb0(%lhs: tensor<64x96xf32>, %rhs: tensor<96x128xf32>, %out: tensor<64x128xf32>):
    %r = linalg.matmul ins(%lhs, %rhs : tensor<64x96xf32>, tensor<96x128xf32>)
      outs(%out : tensor<64x128xf32>) -> tensor<64x128xf32>
  } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)""",
}


def older(dispatch: Dispatch, form: str) -> str:
    matches = FORMS[form].replace("OP", dispatch.problem.op)
    return OLDER.replace("MATCHES", matches).replace("CONFIG", dispatch.default)


@pytest.mark.parametrize("form", FORMS)
def test_older_forms_are_linked_and_matched(
    dispatch: Callable[[str], Dispatch], form: str, tmp_path: Path
) -> None:
    theirs, ours = tmp_path / "theirs.mlir", tmp_path / "ours.mlir"
    theirs.write_text(older(dispatch("matmul"), form))
    attention = dispatch("attention")
    ours.write_text(spec_text(spec_of(attention, attention.default)))
    linked = link_specs([ours, theirs])
    assert DEFAULT_FORM in linked.text
    found = find_matches(read_network(DATA / "matmul.mlir"), linked).by_matcher
    assert [len(dispatches) for dispatches in found.values()] == [1, 0]
    assert next(iter(found)) == f"match of {theirs}"


def test_what_rewrites_has_its_place_among_those_that_match_more(
    dispatch: Callable[[str], Dispatch], tmp_path: Path
) -> None:
    """It runs after the others, which leave what it matches alone where it is newer."""
    given = dispatch("conv_grouped")
    (space,) = build_spaces(given, "UnrolledWindow")
    (row,) = sample(space, 1, 0).to_dict("records")
    theirs, ours = tmp_path / "theirs.mlir", tmp_path / "ours.mlir"
    theirs.write_text(older(given, "operation_name"))
    ours.write_text(spec_text(spec_of(given, space.render(row))))
    model = read_network(DATA / "conv_grouped.mlir")
    for paths in ([theirs, ours], [ours, theirs]):
        linked = link_specs(paths)
        (won,) = (who for who, found in find_matches(model, linked).by_matcher.items() if found)
        assert won.endswith(str(paths[1]))
        together = tmp_path / "together.mlir"
        together.write_text(linked.text)
        again = link_specs([together])
        (won,) = (who for who, found in find_matches(model, again).by_matcher.items() if found)
        assert won.startswith("s1_")  # of the newer one
        assert len(again.matchers) == 2


MATMUL = """
func.func @mm(%a: tensor<2048x5120xf16>, %b: tensor<1280x5120xf16>) -> tensor<2048x1280xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2048x1280xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<2048x1280xf32>) -> tensor<2048x1280xf32>
  %r = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%a, %b : tensor<2048x5120xf16>, tensor<1280x5120xf16>)
    outs(%f : tensor<2048x1280xf32>) -> tensor<2048x1280xf32>
  return %r : tensor<2048x1280xf32>
}
"""


def test_any_names_of_sequences_are_linked(
    dispatch: Callable[[str], Dispatch], tmp_path: Path
) -> None:
    """Also those that linking would give its own."""
    given, spec = dispatch("matmul"), tmp_path / "spec.mlir"
    text = spec_text(spec_of(given, given.default))
    spec.write_text(text.replace("@apply_op_config", "@mark_0"))
    linked = link_specs([spec])
    found = find_matches(read_network(DATA / "matmul.mlir"), linked).by_matcher
    assert [len(matched) for matched in found.values()] == [1]


def test_ours_come_before_those_that_the_compiler_comes_with(tmp_path: Path) -> None:
    """The compiler has a spec for this very product on gfx942."""
    path, spec, other = (tmp_path / name for name in ("mm.mlir", "spec.mlir", "other.mlir"))
    path.write_text(MATMUL)
    given = read_dispatch(path, "gfx942")
    spec.write_text(spec_text(spec_of(given, given.default)))
    other.write_text(older(given, "operation_name"))
    model = read_network(path, "gfx942", default_specs=True)
    for paths in ([spec], [spec, other], [other, spec]):
        linked = link_specs(paths)
        found = find_matches(model, linked)
        assert [len(names) for names in found.by_matcher.values()] == [1, 0][: len(paths)]
        assert next(iter(found.by_matcher)).endswith(str(paths[-1]))  # the newest
        assert found.by_default_specs == ()
        (final,) = final_specs(model, linked)
        tried = final[final.index("transform.foreach_match") :]
        assert tried.index("match") < tried.index("match_mmt_2048x1280x5120")
        assert DEFAULT_FORM in final
    unrelated = link_specs([DATA / "specs" / "attention.mlir"])
    found = find_matches(model, unrelated)
    assert not any(found.by_matcher.values())
    assert len(found.by_default_specs) == 1
