"""Verification: against the default's outputs, and against sums of products in float64."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from frontrunner.benchmarks.compiling import call_of
from frontrunner.benchmarks.operations import Attention, Conv, Matmul, Operation, Types, narrow
from frontrunner.benchmarks.runners import open_local_runner
from frontrunner.benchmarks.verifying import Array, Call, Verification, make_inputs, tolerance
from frontrunner.benchmarks.verifying import verification as module
from frontrunner.core import decode
from frontrunner.search import Dispatch, build_spaces
from frontrunner.search.enumeration import candidate_dicts, sample
from frontrunner.search.reading import read_dispatch


def read(operation: Operation, folder: Path) -> Dispatch:
    path = folder / "operation.mlir"
    path.write_text(operation.mlir())
    return read_dispatch(path)


HALF, BRAIN, SHORT = Types("f16", "f32"), Types("bf16", "f32"), Types("i8", "i32")
PLAIN = (
    Matmul(13, 24, 40, BRAIN),
    Matmul(13, 24, 40, SHORT, transposed=("lhs",)),
    Matmul(16, 8, 24, Types("f16", "f16"), batch=3, transposed=("rhs",)),
    Matmul(16, 24, 32, HALF, steps=("truncate",)),
    Conv(6, 5, 8, 12, (3, 2), 2, (2, 1), (1, 2), types=HALF),
    Conv(6, 5, 8, 8, (3, 3), groups=8, layout="nchw", types=BRAIN),
    Attention(2, 16, 24, 20, "bf16"),
)


@pytest.mark.parametrize("operation", PLAIN, ids=lambda o: o.name)
def test_a_formula_is_what_the_operation_computes(operation: Operation, tmp_path: Path) -> None:
    call = call_of(read(operation, tmp_path))
    inputs = make_inputs(call.inputs, 3)
    assert call.formula is not None
    exact = operation.compute(inputs, np.dtype(np.float64))
    drawn = call.formula.sample(inputs, [dtype for _, dtype in call.inputs], 5)
    assert len(drawn.expected) > 100
    assert np.allclose(drawn.expected, exact[drawn.at], rtol=1e-6, atol=1e-6)
    for axis, size in zip(drawn.at, exact.shape, strict=True):
        assert {0, size - 1} <= set(axis.tolist())


@pytest.mark.parametrize(
    "operation",
    [
        Matmul(16, 24, 32, HALF, steps=("bias",)),
        Matmul(16, 24, 32, slices=4),
    ],
    ids=lambda o: o.name,
)
def test_what_is_more_than_products_has_no_formula(operation: Operation, tmp_path: Path) -> None:
    assert call_of(read(operation, tmp_path)).formula is None


def test_sums_are_those_of_the_root_op(tmp_path: Path) -> None:
    fused = Matmul(16, 24, 32, BRAIN, steps=("bias", "gelu", "truncate"))
    call = call_of(read(fused, tmp_path))
    assert (call.sums, call.outputs[0][1]) == ("f32", "bf16")
    assert call_of(read(Matmul(16, 24, 32, SHORT), tmp_path)).sums == ""


@pytest.fixture
def verification(tmp_path: Path) -> tuple[Call, list[Array], Array]:
    operation = Matmul(40, 48, 256, Types("bf16", "bf16"))
    call = call_of(read(operation, tmp_path))
    inputs = make_inputs(call.inputs, 0)
    return call, inputs, operation.reference(inputs)


def test_what_the_default_and_float64_agree_on_is_held_to_both(
    verification: tuple[Call, list[Array], Array],
) -> None:
    call, inputs, right = verification
    judge = Verification(call, inputs, [right], 0)
    assert judge.default_is_exact
    assert judge.find_mismatch([right]) is None
    wrong = right.copy()
    wrong[-1, -1] = narrow(np.array([99.0]), "bf16")[0]
    assert "element [39, 47] is 99.0" in str(judge.find_mismatch([wrong]))


def test_a_default_that_is_wrong_is_what_is_blamed(
    verification: tuple[Call, list[Array], Array],
) -> None:
    call, inputs, right = verification
    default = right.copy()
    default[:, 5] = 0
    judge = Verification(call, inputs, [default], 0)
    assert not judge.default_is_exact
    assert judge.find_mismatch([default]) is None
    assert "the default, which is wrong" in str(judge.find_mismatch([right]))
    other = right.copy()
    other[:, 7] = 0
    assert "which is wrong" not in str(judge.find_mismatch([other]))


def test_another_formula_than_the_dispatch_has_does_no_harm(
    verification: tuple[Call, list[Array], Array],
) -> None:
    """As of a dispatch that starts its sums from one, not from zero."""
    call, inputs, _ = verification
    lhs, rhs = (narrowed.astype(np.uint32) << 16 for narrowed in inputs)
    plus_one = narrow(lhs.view(np.float32) @ rhs.view(np.float32) + 20, "bf16")
    judge = Verification(call, inputs, [plus_one], 0)
    assert judge.find_mismatch([plus_one]) is None
    assert judge.find_mismatch([np.zeros_like(plus_one)]) is not None


def test_sums_of_too_many_terms_are_not_computed(
    verification: tuple[Call, list[Array], Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    call, inputs, right = verification
    monkeypatch.setattr(module, "MOST_TERMS", 255)
    default = right.copy()
    default[:, 5] = 0
    assert Verification(call, inputs, [default], 0).default_is_exact


def test_how_large_right_values_are_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, size = [], tolerance._size

    def record(values: Array, dtype: str) -> float:
        asked.append(dtype)
        return size(values, dtype)

    monkeypatch.setattr(tolerance, "_size", record)
    floats, integers = (make_inputs([((100,), dtype)], 0)[0] for dtype in ("f32", "i8"))
    call = Call("run", (), (((100,), "f32"), ((100,), "i8")), 4, "f32")
    judge = Verification(call, [], [floats, integers], 0)
    assert [judge.find_mismatch([floats, integers]) for _ in range(2)] == [None, None]
    assert asked == ["f32", "i8"]


def test_calls_travel_with_their_formula(verification: tuple[Call, list[Array], Array]) -> None:
    call, _, __ = verification
    text = json.dumps(asdict(call))
    assert decode(Call, json.loads(text)) == call
    assert len(text) < 1000
    # As in bundles of versions that knew none.
    older = {key: json.loads(text)[key] for key in ("function", "inputs", "outputs", "reduction")}
    assert decode(Call, older) == replace(call, sums="", formula=None)


def test_real_candidates_in_bf16_are_right(tmp_path: Path) -> None:
    dispatch = read(Matmul(40, 64, 512, Types("bf16", "bf16")), tmp_path)
    (space,) = build_spaces(dispatch)
    configs = [space.render(row) for row in candidate_dicts(sample(space, 3, seed=0))]
    with open_local_runner(dispatch, configs.__getitem__) as runner:
        outcomes = [outcome for _, outcome in runner.run(range(len(configs)))]
    assert [outcome.kind for outcome in outcomes] == ["ok"] * 3
