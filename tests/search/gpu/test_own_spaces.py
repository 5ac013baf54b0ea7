"""GPU spaces of our own: the compiler's set where it emits one, and valid where it emits none."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from frontrunner.benchmarks.operations import Matmul, Types
from frontrunner.core import InputError
from frontrunner.search import Dispatch, Space, spec_of
from frontrunner.search import build_spaces as emitted_spaces
from frontrunner.search.enumeration.enumeration import (
    add_derived_columns,
    candidate_dicts,
    count,
    enumerate_space,
    sample,
    satisfies,
)
from frontrunner.search.gpu.columns import COLUMNS
from frontrunner.search.gpu.own_spaces import build, pipelines
from frontrunner.search.gpu.rendering import MatmulLoopsRequest, ask_renderer
from frontrunner.search.mlir import spec_text
from frontrunner.search.mlir.compiler import compile_with_spec
from frontrunner.search.reading import read_dispatch

DATA = Path(__file__).parents[2] / "data"
MATMUL = "gpu/matmul_2048x1280x5120"
BATCH, GROUPED = "gpu/batch_matmul_8x512x1024x768", "gpu/conv_grouped_2x4x64x32x32"
DEPTHWISE, ATTENTION = "gpu/conv_depthwise_2x56x56x128", "gpu/attention_20x4096x64"
# Every family, on AMD's and NVIDIA's.
FAMILIES = [
    (BATCH, "sm_80", "TileAndFuse"),
    (GROUPED, "sm_89", "TileAndFuse-igemm"),
    ("matvec", "gfx942", "VectorDistribute"),
    ("vecmat", "sm_80", "VectorDistribute"),
    ("vecmat", "gfx942", "TileAndFuse-simt"),
    ("matmul_odd", "sm_80", "TileAndFuse-simt"),
    (DEPTHWISE, "gfx1100", "TileAndFuse-simt"),
    (ATTENTION, "sm_80", "VectorDistribute-attention"),
]
DEFAULT = {"mma_idx": 0, "wg_0": 1, "wg_1": 64, "sg_1": 2, "wg_2": 128, "sg_2": 4, "red_3": 8}
pytestmark = pytest.mark.usefixtures("warm")


@cache
def read(file: str, target: str) -> Dispatch:
    return read_dispatch(DATA / f"{file}.mlir", target)


def the_space(file: str, target: str, pipeline: str) -> Space:
    dispatch = read(file, target)
    return build(dispatch.problem, dispatch.target, pipeline, {})


def compiled(dispatch: Dispatch, config: str, folder: Path) -> tuple[bytes, bool]:
    spec = folder / "spec.mlir"
    spec.write_text(spec_text(spec_of(dispatch, config)))
    return compile_with_spec(dispatch.source, dispatch.target.flags, spec)


@pytest.mark.parametrize("target", ["gfx942", "sm_80"])
def test_without_pruning_the_set_is_the_compilers(target: str) -> None:
    dispatch = read(MATMUL, target)
    (emitted,) = emitted_spaces(dispatch, "TileAndFuse")
    ours = the_space(MATMUL, target, "TileAndFuse")
    names = [k.name for k in ours.knobs]
    theirs = enumerate_space(emitted.unpruned)[names]
    demanded = tuple(c for c in ours.constraints if not c.prunes)
    assert satisfies(demanded, {n: theirs[n].to_numpy() for n in names}).all()
    found = enumerate_space(replace(ours, constraints=demanded))[names]
    assert len(found) == len(theirs)
    assert len(pd.concat([found, theirs]).drop_duplicates()) == len(theirs)


@pytest.mark.parametrize(("file", "target", "pipeline"), FAMILIES)
def test_candidates_compile_and_apply(
    file: str, target: str, pipeline: str, tmp_path: Path
) -> None:
    """One per family; `SPACES.md` says how many of how many do."""
    dispatch = read(file, target)
    assert pipeline in pipelines(dispatch.problem, dispatch.target)
    space = the_space(file, target, pipeline)
    (candidate,) = candidate_dicts(sample(space, 1, seed=3))
    _, applied = compiled(dispatch, space.render(candidate), tmp_path)
    assert applied


def test_the_compilers_default_is_a_candidate(tmp_path: Path) -> None:
    dispatch = read(BATCH, "gfx942")
    space = the_space(BATCH, "gfx942", "TileAndFuse")
    assert DEFAULT in candidate_dicts(enumerate_space(space))
    code, applied = compiled(dispatch, space.render(DEFAULT), tmp_path)
    assert applied
    assert code == compiled(dispatch, dispatch.default, tmp_path)[0]


@pytest.mark.parametrize(("file", "target", "pipeline"), FAMILIES)
def test_columns_agree_with_the_attribute(file: str, target: str, pipeline: str) -> None:
    dispatch = read(file, target)
    space = the_space(file, target, pipeline)
    drawn = sample(space, 20, seed=4)
    columns = add_derived_columns(space, drawn)
    assert set(COLUMNS) <= set(columns)
    dims = dispatch.problem.dims
    sizes, roles, swapped = [d.size for d in dims], [d.role for d in dims], False
    if pipeline.endswith("igemm"):
        loops = ask_renderer(MatmulLoopsRequest(dispatch.problem))
        sizes, swapped = list(loops.sizes), loops.swapped
        roles = [dims[loops.origin.index(i)].role for i in range(len(sizes))]
    for knobs, row in zip(candidate_dicts(drawn), columns.to_dict("records"), strict=True):
        text = space.render(knobs)
        assert row["threads"] == math.prod(numbers("workgroup_size", text))
        assert row["subgroup_size"] == int(re.findall(r"subgroup_size = (\d+)", text)[0])
        tiles = numbers("workgroup", text)
        for role in ("batch", "m", "n"):
            of_role = [t for t, r in zip(tiles, roles, strict=True) if r == role and t]
            assert row[f"tile_{role}"] == math.prod(of_role)
        count = math.prod(math.ceil(s / t) for s, t in zip(sizes, tiles, strict=True) if t)
        assert row["workgroups"] == count
        shape = (1, 1, 1)
        if "mma" in text:
            shape = tuple(map(int, re.findall(r"_(\d+)x(\d+)x(\d+)_", text)[0]))
        axes = "nmk" if swapped else "mnk"
        assert tuple(row[f"mma_{axis}"] for axis in axes) == shape
        steps = numbers("partial_reduction" if "partial" in text else "reduction", text)
        unit = 1 if row["vector_distribute"] else row["mma_k"]
        assert row["tile_k"] == math.prod(s for s in steps if s) * unit
        assert row["igemm"] == ("use_igemm_convolution = true" in text)
        assert row["vector_distribute"] == ("VectorDistribute" in text)
        subgroups = row["subgroups_m"] * row["subgroups_n"] * row["subgroups_k"]
        assert subgroups == row["threads"] // row["subgroup_size"] or pipeline.endswith("simt")


def numbers(name: str, text: str) -> list[int]:
    """The list of that name in an attribute's text."""
    return [int(n) for n in re.findall(rf"\b{name} = \[([\d, ]+)\]", text)[0].split(",")]


def test_what_subgroups_add_up_fits_shared_memory(tmp_path: Path) -> None:
    """Of a product of four rows, a workgroup's sums would take more than there is."""
    path = tmp_path / "product.mlir"
    path.write_text(Matmul(4, 4096, 4096).mlir())
    (space,) = emitted_spaces(read_dispatch(path, "gfx942"), "VectorDistribute")
    frame = enumerate_space(space)
    shared = add_derived_columns(space, frame)["shared_bytes"]
    limit = space.target.gpu.shared_bytes
    assert shared.max() == limit
    more = tuple(c for c in space.constraints if c.reason != "sums fit shared memory")
    wider = enumerate_space(replace(space, constraints=more))
    assert add_derived_columns(space, wider)["shared_bytes"].max() > limit


def test_what_is_no_product_has_no_pipeline() -> None:
    dispatch = read(MATMUL, "gfx942")
    two = replace(dispatch.problem, operands=dispatch.problem.operands[1:])
    assert pipelines(two, dispatch.target) == ()


def test_extra_knobs_show_up() -> None:
    dispatch = read(BATCH, "gfx942")
    extras = {
        "stages": (0, 3),
        "bank_padding": (0, 1),
        "waves_per_eu": (0, 2),
        "flush_denormals": (0, 1),
    }
    space = build(dispatch.problem, dispatch.target, "TileAndFuse", extras)
    for knobs in candidate_dicts(sample(space, 20, seed=0)):
        text = space.render(knobs)
        assert f"prefetch_num_stages = {knobs['stages']}" in text
        unpadded = str(not knobs["bank_padding"]).lower()
        assert f"no_reduce_shared_memory_bank_conflicts = {unpadded}" in text
        assert ('"amdgpu-waves-per-eu" = "2"' in text) == (knobs["waves_per_eu"] == 2)
        assert ("preserve-sign" in text) == bool(knobs["flush_denormals"])
    other = read(BATCH, "sm_80")
    left = build(other.problem, other.target, "TileAndFuse", extras).knobs
    assert {k.name for k in left} & set(extras) == {"bank_padding"}


def test_three_stages_of_thread_tiles_are_left_out() -> None:
    """The compiler crashes on them: 4 of 4 candidates with promoted operands."""
    dispatch = read("matmul_odd", "gfx1100")
    extras = {"stages": (0, 2, 3), "bank_padding": (0, 1)}
    space = build(dispatch.problem, dispatch.target, "TileAndFuse-simt", extras)
    drawn = sample(space, 500, seed=0)
    assert set(drawn[drawn.promote == 1].stages) == {0, 2}
    assert set(drawn[drawn.promote == 0].bank_padding) == {0}
    assert set(drawn[drawn.promote == 0].stages) == {0}  # nothing is loaded ahead


def test_small_and_odd_batches_have_candidates() -> None:
    """Of 9 rows and columns no tiles have as many threads as whole subgroups."""
    dispatch = read("batch_matmul", "gfx1100")
    sizes = (1000, 9, 9, 64)
    dims = tuple(replace(d, size=n) for d, n in zip(dispatch.problem.dims, sizes, strict=True))
    problem = replace(dispatch.problem, dims=dims)
    assert count(build(problem, dispatch.target, "TileAndFuse-simt", {})).value > 0


def test_ragged_loops_are_padded() -> None:
    dispatch = read("matmul_odd", "gfx942")
    space = the_space("matmul_odd", "gfx942", "TileAndFuse")
    assert dispatch.problem.dim("m").size % 16
    for knobs in candidate_dicts(sample(space, 20, seed=0)):
        tiles = numbers("padding", space.render(knobs))
        assert tiles[:2] == [knobs["wg_0"], knobs["wg_1"]]


@pytest.mark.parametrize(
    ("dtype", "target", "able"),
    [
        ("f8E4M3FN", "gfx942", "f8E4M3FNUZ, f8E5M2FNUZ"),
        ("f8E4M3FNUZ", "gfx950", "f8E4M3FN, f8E5M2"),
        ("f8E5M2", "gfx1100", "a wider type"),
    ],
)
def test_floats_that_a_gpu_lacks_are_refused(
    tmp_path: Path, dtype: str, target: str, able: str
) -> None:
    path = tmp_path / "product.mlir"
    path.write_text(Matmul(64, 128, 96, Types(dtype, "f32")).mlir())
    with pytest.raises(InputError, match=f"{target} has no {dtype}, which lhs is in") as refused:
        emitted_spaces(read_dispatch(path, target))
    assert able in str(refused.value.hint)
