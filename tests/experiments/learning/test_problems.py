"""One computation has one name however it is written; what is computed decides the family."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import frontrunner.experiments
from frontrunner.experiments.dataset import ForeignKernel
from frontrunner.experiments.dataset.reading import read_recording
from frontrunner.experiments.learning.problems import family_of, problem_name
from frontrunner.models.testing.samples import batch_matmul, conv, matmul
from frontrunner.search import Dim, Operand, Problem

RECORDINGS = Path(frontrunner.experiments.__file__).parent / "recordings" / "zen3"


def recorded(name: str) -> Problem:
    """As the compiler's bindings read it."""
    problem = read_recording(RECORDINGS / f"{name}.parquet").provenance.problem
    assert isinstance(problem, Problem)
    return problem


def contraction(sizes: dict[str, int], lhs: str, rhs: str, out: str, dtypes="f32 f32") -> Problem:
    """A product of matrices whose dims have the names of loops, such as `mk` and `kn`."""
    loops = list(sizes)
    first, second = dtypes.split()

    def operand(name: str, dtype: str, dims: str) -> Operand:
        index = tuple(((loops.index(d), 1),) for d in dims)
        return Operand(name, dtype, index, output=name == "out")

    roles = {"a": "batch", "b": "batch", "m": "m", "p": "m", "n": "n", "k": "k"}
    dims = tuple(Dim(d, size, roles[d], d != "k") for d, size in sizes.items())
    operands = (operand("lhs", first, lhs), operand("rhs", second, rhs), operand("out", "f32", out))
    return Problem("contraction", "linalg.generic", dims, operands)


def conv_1x1(stride: int = 1) -> Problem:
    problem = conv(28, 128, 256, stride)
    dims = tuple(replace(d, size=1) if d.name in ("fh", "fw") else d for d in problem.dims)
    return replace(problem, dims=dims)


MATMUL = contraction({"m": 64, "n": 32, "k": 16}, "mk", "kn", "mn")


@pytest.mark.parametrize(
    "twin",
    [
        contraction({"k": 16, "n": 32, "m": 64}, "mk", "kn", "mn"),
        contraction({"m": 32, "n": 64, "k": 16}, "km", "nk", "nm"),
        contraction({"a": 1, "m": 64, "n": 32, "k": 16}, "amk", "akn", "amn"),
        contraction({"m": 8, "p": 8, "n": 32, "k": 16}, "mpk", "kn", "mpn"),
        replace(MATMUL, fused=("linalg.generic",)),
    ],
    ids=["loops", "operands", "unit batch", "two loops for one", "fused"],
)
def test_twins_have_one_name(twin):
    assert problem_name(twin) == problem_name(MATMUL)
    assert family_of(twin) == "matmul"


@pytest.mark.parametrize(
    "other",
    [
        contraction({"m": 64, "n": 32, "k": 16}, "mk", "nk", "mn"),
        contraction({"m": 64, "n": 32, "k": 16}, "km", "kn", "mn"),
        contraction({"m": 64, "n": 32, "k": 16}, "mk", "kn", "nm"),
        contraction({"m": 8, "p": 8, "n": 32, "k": 16}, "pmk", "kn", "mpn"),
        contraction({"m": 32, "n": 64, "k": 16}, "mk", "kn", "mn"),
        contraction({"m": 64, "n": 32, "k": 16}, "mk", "kn", "mn", "bf16 bf16"),
    ],
    ids=["rhs", "lhs", "output", "part of lhs", "sizes", "types"],
)
def test_what_lies_otherwise_in_memory_is_another_problem(other):
    assert problem_name(other) != problem_name(MATMUL)
    assert family_of(other) == "matmul"


def test_types_go_with_their_operands():
    mixed = contraction({"m": 64, "n": 32, "k": 16}, "mk", "kn", "mn", "i8 f32")
    swapped = contraction({"m": 32, "n": 64, "k": 16}, "km", "nk", "nm", "f32 i8")
    other = contraction({"m": 32, "n": 64, "k": 16}, "km", "nk", "nm", "i8 f32")
    assert problem_name(mixed) == problem_name(swapped) != problem_name(other)


def test_a_matvec_is_a_matmul_with_one_row():
    matvec = recorded("matvec_2048x2048_f32")
    one_row = recorded("matmul_1x2048x2048_f32_f32_f32_transposed_rhs")
    assert problem_name(matvec) == problem_name(one_row)
    assert problem_name(recorded("matvec_4096x1024_f32")) != problem_name(one_row)


def test_a_convolution_of_single_pixels_is_a_matmul():
    assert problem_name(conv_1x1()) == problem_name(matmul(784, 256, 128))
    assert family_of(conv_1x1(stride=2)) == "convolution"


def test_convolutions():
    plain, fused, other_layout = (
        problem_name(recorded(f"conv_{name}"))
        for name in (
            "nhwc_28x28x128x128_3x3_s1_f32",
            "nhwc_28x28x128x128_3x3_s1_f32_bias_relu",
            "nchw_28x28x64x64_3x3_s1_f32",
        )
    )
    assert plain == fused
    assert problem_name(conv(28, 64, 64)) != other_layout
    assert problem_name(conv(28, 64, 64)) != problem_name(conv(28, 64, 64, stride=2))


def test_what_a_mask_changes():
    plain = recorded("attention_8x64x64x64_f32")
    assert problem_name(replace(plain, traits=(("masked", 1),))) != problem_name(plain)


@pytest.mark.parametrize(
    ("problem", "family"),
    [
        (contraction({"m": 64, "k": 16}, "mk", "k", "m"), "matvec"),
        (contraction({"n": 64, "k": 16}, "k", "kn", "n"), "matvec"),
        (matmul(64, 1, 16), "matvec"),
        (batch_matmul(12, 1, 64, 16), "matvec"),
        (batch_matmul(12, 8, 64, 16), "batch_matmul"),
        (batch_matmul(1, 8, 64, 16), "matmul"),
        (matmul(8, 64, 16, "i8"), "matmul"),
        (conv(28, 64, 64), "convolution"),
        (recorded("depthwise_nhwc_28x28x192_3x3_s2_f32"), "depthwise"),
        (recorded("attention_8x64x64x64_f32"), "attention"),
        (replace(MATMUL, kind="row_sum"), "row_sum"),
        (ForeignKernel("gemm", (64, 64)), "gemm"),
    ],
)
def test_families(problem, family):
    assert family_of(problem) == family


def test_operands_of_other_kinds_have_an_order():
    kind = replace(MATMUL, kind="difference")
    swapped = replace(kind, operands=(kind.operands[1], kind.operands[0], kind.operands[2]))
    assert problem_name(kind) != problem_name(swapped)
