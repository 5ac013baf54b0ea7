"""Products in an order of loops that the compiler does not vectorise well, put in order."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from frontrunner.search import Dispatch, build_spaces, compiled_problem
from frontrunner.search.interchanged import PIPELINE, can_interchange, loop_order

Read = Callable[[str], Dispatch]


def test_pixels_become_columns(dispatch: Read) -> None:
    problem = dispatch("conv_1x1_nchw").problem
    assert [(d.name, d.size) for d in problem.dims] == [("n", 40), ("m", 160), ("k", 24)]
    assert can_interchange(problem)
    assert loop_order(problem) == (1, 0, 2)
    product = compiled_problem(problem, PIPELINE)
    # As `linalg.matmul` of 40x24 and 24x160 has it, but that knobs keep the names of their loops.
    assert [(d.name, d.size, d.role) for d in product.dims] == [
        ("m", 160, "n"),
        ("n", 40, "m"),
        ("k", 24, "k"),
    ]
    filters, image, output = product.operands
    rows, columns, terms = (((place, 1),) for place in (1, 0, 2))
    assert filters.index == (rows, terms)
    assert image.index == (terms, columns)
    assert output.index == (rows, columns)
    assert product.flops == problem.flops
    assert compiled_problem(problem, "DoubleTilingExpert") is problem


@pytest.mark.parametrize("name", ["matmul", "matmul_transposed_lhs", "matvec", "generic_matmul"])
def test_products_in_order_stay(dispatch: Read, name: str) -> None:
    given = dispatch(name)
    assert not can_interchange(given.problem)
    assert [s.pipeline for s in build_spaces(given)] == ["DoubleTilingExpert"]


def test_both_orders_are_candidates(dispatch: Read) -> None:
    tiled, interchanged = build_spaces(dispatch("conv_1x1_nchw"))
    assert (tiled.pipeline, interchanged.pipeline) == ("DoubleTilingExpert", PIPELINE)
    assert tiled.default is not None and interchanged.default is None
    assert [k.name for k in interchanged.knobs] != []
    assert {k.name for k in interchanged.knobs} == {k.name for k in tiled.knobs}
