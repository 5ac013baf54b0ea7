"""CPU spaces: valid by Z3's word and by the compiler's, and wide enough for known winners."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import z3

from frontrunner.core import Child, InputError
from frontrunner.search import (
    Constraint,
    Dim,
    Dispatch,
    Operand,
    Problem,
    Space,
    Target,
    build_spaces,
    kind_of,
    spec_of,
)
from frontrunner.search.cpu.configuration import parse, render
from frontrunner.search.cpu.rules import contiguous
from frontrunner.search.cpu.spaces import build
from frontrunner.search.enumeration.enumeration import count, sample, satisfies
from frontrunner.search.mlir import spec_text
from frontrunner.search.mlir.compiler import compile_with_spec
from frontrunner.search.reading import READER, read_dispatch

Read = Callable[[str], Dispatch]
DATA = Path(__file__).parents[2] / "data"

KINDS = [
    "matmul",
    "matmul_odd",
    "matmul_i8",
    "matmul_transposed_rhs",
    "matmul_fused",
    "batch_matmul",
    "mmt4d",
    "matvec",
    "vecmat",
    "conv_nhwc",
    "conv_strided",
    "conv_nchw",
    "conv_1x1_nchw",
    "conv_depthwise",
    "conv_depthwise_nchw",
    "conv_grouped",
    "attention",
    "attention_decode",
    "attention_grouped",
]


@pytest.fixture(scope="session")
def dispatch(readers: dict[str, Child]) -> Read:
    """Reads `tests/data/NAME.mlir` for the same target everywhere: nothing here is executed."""

    @cache
    def read(name: str) -> Dispatch:
        given = read_dispatch(DATA / f"{name}.mlir", "znver4", readers[READER])
        return replace(given, target=replace(given.target, cores=2))

    return read


def the_space(dispatch: Dispatch) -> Space:
    """Of the pipeline that the compiler chooses by itself."""
    (space,) = (space for space in build_spaces(dispatch) if space.default is not None)
    return space


@pytest.mark.parametrize("name", KINDS)
def test_candidates_satisfy_z3(dispatch: Read, name: str) -> None:
    space = the_space(dispatch(name))
    solver = z3.Solver()
    solver.add(*[c.formula for c in space.constraints])
    for row in sample(space, 10, seed=1).to_dict("records"):
        assert solver.check(*[k.var == row[k.name] for k in space.knobs]) == z3.sat
        assert all(row[k.name] in k.values for k in space.knobs)


@pytest.mark.parametrize("name", KINDS)
def test_candidates_compile_and_apply(dispatch: Read, name: str, tmp_path: Path) -> None:
    """A few per kind; `experiments/studies/validity.py` does 100 each."""
    given = dispatch(name)
    space = the_space(given)
    spec = tmp_path / "spec.mlir"
    for row in sample(space, 3, seed=2).to_dict("records"):
        spec.write_text(spec_text(spec_of(given, space.render(row))))
        _, applied = compile_with_spec(given.source, given.target.flags, spec)
        assert applied, row


def columns(candidate: Mapping[str, int]) -> dict[str, np.ndarray]:
    return {name: np.array([value]) for name, value in candidate.items()}


AVX2 = Target("llvm-cpu", "znver3", "host", 2, 32, 16, (32768, 524288, 33554432))
AVX512 = replace(AVX2, arch="znver4", vector_bytes=64, registers=32)
# Best or near-best of their problems among hundreds of measured candidates (two Zen 3 cores).
WINNERS = {
    (32, 2048, 2048): {
        "dist_m": 32,
        "cache_m": 32,
        "vec_m": 8,
        "dist_n": 256,
        "cache_n": 64,
        "vec_n": 16,
        "cache_k": 64,
        "vec_k": 4,
    },
    (1, 4096, 4096): {
        "dist_m": 1,
        "cache_m": 1,
        "vec_m": 1,
        "dist_n": 1024,
        "cache_n": 1024,
        "vec_n": 64,
        "cache_k": 8,
        "vec_k": 8,
    },
    (197, 768, 768): {
        "dist_m": 48,
        "cache_m": 48,
        "vec_m": 6,
        "dist_n": 768,
        "cache_n": 32,
        "vec_n": 16,
        "cache_k": 192,
        "vec_k": 6,
    },
    (384, 384, 384): {
        "dist_m": 96,
        "cache_m": 48,
        "vec_m": 4,
        "dist_n": 384,
        "cache_n": 48,
        "vec_n": 16,
        "cache_k": 64,
        "vec_k": 16,
    },
    (512, 1024, 768): {
        "dist_m": 48,
        "cache_m": 48,
        "vec_m": 3,
        "dist_n": 1024,
        "cache_n": 64,
        "vec_n": 32,
        "cache_k": 6,
        "vec_k": 2,
    },
}


@pytest.mark.parametrize(("sizes", "winner"), WINNERS.items())
def test_known_winners_are_candidates(
    dispatch: Read, sizes: tuple[int, int, int], winner: dict[str, int]
) -> None:
    problem = dispatch("matmul").problem
    dims = tuple(replace(d, size=s) for d, s in zip(problem.dims, sizes, strict=True))
    space = build(replace(problem, dims=dims), AVX2, "DoubleTilingExpert")
    row = {**winner, "peel": 1}
    for knob in space.knobs:
        assert row[knob.name] in knob.values
    for constraint in space.constraints:
        assert satisfies((constraint,), columns(row)).all(), constraint.reason


@pytest.mark.parametrize("target", ["x86-64", "znver3", "znver4", "neoverse-n1"])
@pytest.mark.parametrize("name", KINDS)
def test_the_compilers_default_is_a_candidate(
    readers: dict[str, Child], name: str, target: str
) -> None:
    """A sample: `experiments/studies/defaults.py` goes through 180 dispatches."""
    given = read_dispatch(DATA / f"{name}.mlir", target, readers[READER])
    space = the_space(given)
    assert space.default is not None
    assert satisfies(space.constraints, columns(space.default)).all()
    assert all(space.default[k.name] in k.values for k in space.knobs)


@pytest.mark.parametrize("name", KINDS)
def test_the_default_as_a_candidate_is_the_same_executable(
    dispatch: Read, name: str, tmp_path: Path
) -> None:
    given = dispatch(name)
    space = the_space(given)
    assert space.default is not None
    made = []
    for config in (given.default, space.render(space.default)):
        spec = tmp_path / "spec.mlir"
        spec.write_text(spec_text(spec_of(given, config)))
        code, applied = compile_with_spec(given.source, given.target.flags, spec)
        assert applied
        made.append(code)
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("dist", "peel", "read"),
    [(16, 0, 1), (16, 1, 1), (24, 0, 0), (24, 1, 1), (8, 0, 1)],
)
def test_an_unpeeled_configuration_is_read_as_such_where_sizes_are_not_known(
    dispatch: Read, dist: int, peel: int, read: int
) -> None:
    """Workgroups of 24 leave 16 of 64: whole vector tiles, which are masked unless peeled."""
    problem = dispatch("matmul").problem
    sizes = {d.name: d.size for d in problem.dims}
    assert sizes["m"] % 16 == 0 and sizes["m"] % 24
    knobs = {f"{level}_{name}": 8 for level in ("dist", "cache", "vec") for name in sizes}
    knobs |= {"dist_m": dist, "cache_m": 8, "dist_k": sizes["k"], "peel": peel}
    text = render(problem, "DoubleTilingExpert", knobs)
    assert parse(problem, text) == knobs | {"peel": read}


def test_columns_of_one_are_contiguous_along_rows(dispatch: Read) -> None:
    """As they are where they have no columns: a product with a matrix of one column."""
    problem = dispatch("matmul").problem
    assert [d.name for d in contiguous(problem)] == ["n", "k"]
    dims = tuple(replace(d, size=1) if d.name == "n" else d for d in problem.dims)
    assert [d.name for d in contiguous(replace(problem, dims=dims))] == ["m", "k"]


def test_what_forbids_the_default_still_forbids_others(dispatch: Read) -> None:
    """An odd matmul's default fills no vector, which one constraint demands of all others."""
    given = dispatch("matmul_odd")
    plain = build(given.problem, given.target, "DoubleTilingExpert")
    default = {k.name: k.values[-1] for k in plain.knobs} | {"vec_m": 1, "vec_n": 1, "vec_k": 1}
    wide = plain.with_default(default)
    (before,), (after,) = (
        [
            c
            for c in space.constraints
            if c.reason == "a contiguous loop, or a convolution's channels, fill native vectors"
        ]
        for space in (plain, wide)
    )
    other = default | {"vec_n": 2}
    assert satisfies(wide.constraints, columns(default)).all()
    assert not satisfies((before,), columns(default)).any()
    assert not satisfies((after,), columns(other)).any()


def test_attentions_head_dim_is_never_tiled(dispatch: Read) -> None:
    given = dispatch("attention")
    space = the_space(given)
    assert set(sample(space, 50, 0).vec_k1) == {given.problem.dim("k1").size}
    assert "vector_reduction = [0, 0, 0, 0, " in space.render(sample(space, 1, 0).iloc[0].to_dict())


def test_tiles_of_operands_stay_whole(dispatch: Read) -> None:
    """The compiler has laid them out for the vector unit; how many are taken at once varies."""
    space = the_space(dispatch("mmt4d"))
    drawn = sample(space, 200, 0)
    inner = {"dist_m1": 8, "vec_m1": 8, "dist_n1": 8, "vec_n1": 8, "vec_k1": 1}
    assert {name: set(drawn[name]) for name in inner} == {n: {size} for n, size in inner.items()}
    assert all(drawn[name].nunique() > 2 for name in ("dist_m0", "dist_n0", "vec_m0", "vec_k0"))


def rule(space: Space, reason: str) -> tuple[Constraint, ...]:
    (found,) = [c for c in space.constraints if reason in c.reason]
    return (found,)


def test_a_windows_width_fills_no_vector(dispatch: Read) -> None:
    """With channels first it is contiguous, in the filter."""
    space = build(dispatch("conv_nchw").problem, AVX2, "ConvTileAndDecomposeExpert")
    ones = {k.name: 1 for k in space.knobs}
    full = rule(space, "fill native vectors")
    assert not satisfies(full, columns(ones | {"vec_ow": 2, "vec_fw": 3})).any()
    assert satisfies(full, columns(ones | {"vec_oc": 4, "vec_fw": 3})).all()


def test_the_work_of_a_workgroup_of_attention_is_that_of_both_products() -> None:
    """Each skips a loop of the other's: 12x128x128x64 is 2 * 128 * (64 + 64) for each row."""
    names = ("batch", "m", "k1", "k2", "n")
    sizes, roles = (12, 128, 64, 128, 64), ("batch", "m", "k", "k", "n")
    dims = [
        Dim(name, size, role, role != "k")
        for name, size, role in zip(names, sizes, roles, strict=True)
    ]
    at = {"query": (0, 1, 2), "key": (0, 3, 2), "value": (0, 3, 4), "out": (0, 1, 4)}
    operands = [
        Operand(name, "f32", tuple(((d, 1),) for d in loops), name == "out")
        for name, loops in at.items()
    ]
    problem = Problem("attention", "iree_linalg_ext.online_attention", tuple(dims), tuple(operands))
    space = build(problem, AVX2, "LinalgExtTileAndVectorize")
    worth = rule(space, "worth handing out")
    ones = {k.name: 1 for k in space.knobs} | {"dist_n": 64}
    assert not satisfies(worth, columns(ones)).any()
    assert satisfies(worth, columns(ones | {"dist_m": 2})).all()


def sums_of_columns(rows: int, columns: int) -> Problem:
    dims = (Dim("n", columns, "n", True), Dim("k", rows, "k", False))
    operands = (
        Operand("in0", "f32", (((1, 1),), ((0, 1),))),
        Operand("out", "f32", (((0, 1),),), output=True),
    )
    return Problem("generic", "linalg.generic", dims, operands)


@pytest.mark.parametrize("cores", [7, 128])
@pytest.mark.parametrize("name", [*KINDS, "sums of columns"])
def test_machines_with_many_cores_have_candidates(dispatch: Read, name: str, cores: int) -> None:
    """Loops that fill vectors are not cut into single values, and tiles of operands stay whole."""
    problem = sums_of_columns(100, 96) if name not in KINDS else dispatch(name).problem
    for pipeline in kind_of(problem).cpu_pipelines(problem):
        for target in (AVX2, AVX512):
            space = build(problem, replace(target, cores=cores), pipeline)
            assert count(space).value > 0, (pipeline, target.vector_bytes)


def test_many_cores_and_channels_that_few_tiles_divide(dispatch: Read) -> None:
    """Of 55 channels, only all are a multiple of five, the largest vector that divides them."""
    problem = dispatch("conv_nhwc").problem
    sizes = {"n": 55, "m": 7}
    dims = [replace(d, size=sizes.get(d.role, d.size)) if d.size > 1 else d for d in problem.dims]
    target = replace(AVX512, cores=64)
    space = build(replace(problem, dims=tuple(dims)), target, "ConvTileAndDecomposeExpert")
    assert count(space).value > 0


def test_workgroups_are_as_many_as_can_be() -> None:
    """Of 96 columns, 6 with 16 each."""
    for cores, tiles in ((3, {16, 32}), (64, {16})):
        space = build(sums_of_columns(4096, 96), replace(AVX512, cores=cores), "DoubleTilingExpert")
        assert set(sample(space, 500, 0).dist_n) == tiles


@pytest.mark.parametrize(
    ("name", "channels", "full"),
    [("conv_depthwise_nchw", 58, {"vec_c": 2, "vec_ow": 14}), ("conv_nhwc", 50, {"vec_oc": 5})],
)
def test_channels_that_no_vector_divides_have_candidates(
    dispatch: Read, name: str, channels: int, full: dict[str, int]
) -> None:
    """Of an image of 28x28, which no vector of AVX-512 divides either."""
    problem = dispatch(name).problem
    sizes = {"n": channels, "m": 28}
    dims = [replace(d, size=sizes.get(d.role, d.size)) if d.size > 1 else d for d in problem.dims]
    space = build(replace(problem, dims=tuple(dims)), AVX512, "ConvTileAndDecomposeExpert")
    rows = sample(space, 500, 0)
    assert len(rows) == 500
    multiples = [rows[knob] % unit == 0 for knob, unit in full.items()]
    assert np.logical_or.reduce(multiples).all()
    for knob, unit in full.items():
        assert unit in set(rows[knob])


def test_a_remainder_of_the_default_is_admitted_in_its_loop(dispatch: Read) -> None:
    """Whatever the other loops' tiles are; in others none is."""
    plain = build(dispatch("conv_nhwc").problem, AVX2, "ConvTileAndDecomposeExpert")
    default = {k.name: k.values[0] for k in plain.knobs} | {"dist_ow": 16, "vec_ow": 5, "vec_oc": 8}
    wide = plain.with_default(default).constraints
    ow, oc = (
        [
            c
            for c in wide
            if c.reason == f"a convolution's vector tiles of {name} leave no remainder"
        ]
        for name in ("ow", "oc")
    )
    assert satisfies(ow, columns(default | {"vec_oc": 16})).all()
    assert not satisfies(ow, columns(default | {"vec_ow": 3})).any()
    assert not satisfies(oc, columns(default | {"vec_oc": 3})).any()


def test_every_knob_varies_and_every_constraint_excludes(dispatch: Read) -> None:
    """On a problem of real size; a constraint that excludes nothing would be dead weight."""
    problem = dispatch("matmul").problem
    dims = tuple(replace(d, size=s) for d, s in zip(problem.dims, (512, 1024, 768), strict=True))
    space = build(replace(problem, dims=dims), AVX2, "DoubleTilingExpert")
    drawn = sample(space, 2000, 0)
    assert all(drawn[k.name].nunique() > 1 for k in space.knobs)
    rng = np.random.default_rng(0)
    anything = {k.name: rng.choice(k.values, 200_000) for k in space.knobs}
    for constraint in space.constraints:
        assert not satisfies((constraint,), anything).all(), constraint.reason


def test_pruning_shrinks_the_space(dispatch: Read) -> None:
    space = the_space(dispatch("matmul"))
    demanded = replace(space, constraints=tuple(c for c in space.constraints if not c.prunes))
    assert 0 < count(space).value < count(demanded).value


def test_a_pipeline_that_does_not_fit_is_refused(dispatch: Read) -> None:
    given = dispatch("matmul")
    with pytest.raises(InputError, match="cannot lower this contraction"):
        build_spaces(given, "ConvTileAndDecomposeExpert")
