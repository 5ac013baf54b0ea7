"""What a chip has that the compiler does not reckon with: shared memory of sm_86, packed sums."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from frontrunner.benchmarks.operations import Conv, Matmul, Types
from frontrunner.search import Dispatch, Space, build_spaces, spec_of
from frontrunner.search.enumeration import add_derived_columns, candidate_dicts, sample
from frontrunner.search.gpu.own_spaces import build
from frontrunner.search.gpu.sums import sum_bits
from frontrunner.search.mlir import compile_with_spec, spec_text
from frontrunner.search.reading import read_dispatch

DATA = Path(__file__).parents[2] / "data" / "gpu"
SMALLER = "tiles fit the chip's shared memory, not that of sm_80"
LIMIT = 101_376
F16 = Types("f16", "f32")
OPERATIONS = {
    "matmul": Matmul(1024, 2048, 1024, F16),
    "f32": Matmul(512, 512, 512),
    "conv": Conv.square(32, 128, 256, 3, types=F16),
    "nchw": Conv.square(32, 128, 256, 3, types=F16, layout="nchw"),
    "f16": Matmul(1024, 2048, 1024, Types("f16", "f16")),
}
pytestmark = pytest.mark.usefixtures("warm")


@cache
def read(name: str, target: str, folder: Path) -> Dispatch:
    path = DATA / f"{name}.mlir"
    if name in OPERATIONS:
        path = folder / f"{name}.mlir"
        path.write_text(OPERATIONS[name].mlir())
    return read_dispatch(path, target)


def allotted(dispatch: Dispatch, space: Space, knobs: dict[str, int], folder: Path) -> int:
    """Bytes of shared memory in what the compiler hands to LLVM."""
    spec, dumped = folder / "spec.mlir", folder / "dumped"
    spec.write_text(spec_text(spec_of(dispatch, space.render(knobs))))
    dump = f"--iree-hal-dump-executable-intermediates-to={dumped}"
    compile_with_spec(dispatch.source, (*dispatch.target.flags, dump), spec)
    (linked,) = dumped.glob("*.linked.ll")
    arrays = re.findall(r"addrspace\(3\) global (\[.*?)\]+ undef", linked.read_text())
    element = {"half": 2, "float": 4}
    return sum(
        math.prod(map(int, re.findall(r"(\d+) x", array))) * element[array.rpartition(" ")[2]]
        for array in arrays
    )


@pytest.mark.parametrize(
    ("name", "pipeline", "own"),
    [
        ("batch_matmul_8x512x1024x768", "TileAndFuse", True),
        ("conv", "TileAndFuse-igemm", True),
        ("nchw", "TileAndFuse-igemm", True),
        ("f32", "TileAndFuse-simt", True),
        ("attention_20x4096x64", "VectorDistribute-attention", True),
        ("matmul", "TileAndFuse", False),
        ("matmul", "VectorDistribute", False),
        ("conv", "TileAndFuse", False),
        ("conv", "TileAndFuse-igemm", False),
    ],
)
def test_rows_are_padded_as_the_compiler_pads_them(
    name: str, pipeline: str, own: bool, tmp_path: Path
) -> None:
    """On sm_86, whose limit the compiler takes for that of sm_80."""
    dispatch = read(name, "sm_86", tmp_path)
    problem, target = dispatch.problem, dispatch.target
    (space,) = (build(problem, target, pipeline, {}),) if own else build_spaces(dispatch, pipeline)
    (rule,) = (c for c in space.constraints if c.reason == SMALLER)
    counted = ("counted", rule.formula.arg(0))
    wide = replace(
        space,
        constraints=tuple(c for c in space.constraints if c is not rule),
        derived=(*space.derived, counted),
    )
    drawn = add_derived_columns(wide, sample(wide, 1000, 0))
    assert (drawn["counted"] >= drawn["shared_bytes"]).all()
    (candidate,) = drawn[drawn["shared_bytes"] > 0].tail(1).to_dict("records")
    knobs = {k.name: int(candidate[k.name]) for k in space.knobs}
    assert allotted(dispatch, space, knobs, tmp_path) == candidate["counted"]


def test_what_overflows_when_padded_is_no_candidate(tmp_path: Path) -> None:
    """Of batches: 26 of 1,365 that fit without."""
    dispatch = read("batch_matmul_8x512x1024x768", "sm_86", tmp_path)
    space = build(dispatch.problem, dispatch.target, "TileAndFuse", {})
    others = tuple(c for c in space.constraints if c.reason != SMALLER)
    wide = replace(space, constraints=others)
    drawn = candidate_dicts(sample(wide, 2000, 0))
    refused = [knobs for knobs in drawn if not space.allows(knobs)]
    assert len(refused) == 26
    assert allotted(dispatch, space, refused[0], tmp_path) > LIMIT
    same = build(dispatch.problem, replace(dispatch.target, arch="sm_80"), "TileAndFuse", {})
    assert SMALLER not in {c.reason for c in same.constraints}


@pytest.mark.parametrize(
    ("name", "target", "bits"),
    [
        ("f16", "sm_80", 16),
        ("f16", "gfx1100", 32),
        ("f16", "gfx1201", 16),
        ("matmul", "sm_80", 32),
        ("attention_20x4096x64", "sm_80", 32),
    ],
)
def test_two_sums_share_a_register_where_instructions_have_it_so(
    name: str, target: str, bits: int, tmp_path: Path
) -> None:
    dispatch = read(name, target, tmp_path)
    assert sum_bits(dispatch.problem, dispatch.target) == bits


@pytest.mark.parametrize(("target", "most"), [("sm_80", 510), ("gfx1100", 256)])
def test_threads_may_have_twice_the_packed_sums(target: str, most: int, tmp_path: Path) -> None:
    """In the compiler's spaces and in our own, with matrix instructions."""
    dispatch = read("f16", target, tmp_path)
    ours = build(dispatch.problem, dispatch.target, "TileAndFuse", {})
    for space in (ours, *build_spaces(dispatch)):
        drawn = add_derived_columns(space, sample(space, 5000, 0))
        sums = drawn["tile_m"] * drawn["tile_n"] / drawn["threads"]
        assert most / 2 < sums.max() <= most


@pytest.mark.parametrize("filters", [24, 128])
def test_rows_of_instructions_lie_along_channels_that_come_first(
    filters: int, tmp_path: Path
) -> None:
    """The filter is the left operand then; instructions have 16 rows and 8 columns."""
    path = tmp_path / "nchw.mlir"
    path.write_text(Conv.square(32, 64, filters, 3, types=F16, layout="nchw").mlir())
    (space,) = build_spaces(read_dispatch(path, "sm_80"), "TileAndFuse-igemm")
    drawn = add_derived_columns(space, sample(space, 200, 0))
    assert len(drawn) == 200
    assert set(drawn["mma_n"]) == {16}
    assert set(drawn["mma_m"]) == {8}
    assert (drawn["tile_n"] % 16 == 0).all()
