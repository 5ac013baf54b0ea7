"""The compiler's own choice on GPUs is a candidate, and read as the knobs that it is."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from frontrunner.search import Dispatch, build_spaces, spec_of
from frontrunner.search.gpu.chosen import ChosenConfig
from frontrunner.search.gpu.own_spaces import knobs_of
from frontrunner.search.mlir import compile_with_spec, spec_text
from frontrunner.search.reading import read_dispatch

DATA = Path(__file__).parents[2] / "data"
pytestmark = pytest.mark.usefixtures("warm")


def assert_compiles_as_the_default(dispatch: Dispatch, config: str, folder: Path) -> None:
    spec = folder / "spec.mlir"
    spec.write_text(spec_text(spec_of(dispatch, config)))
    flags = dispatch.target.flags
    executable, applied = compile_with_spec(dispatch.source, flags, spec)
    assert applied
    assert executable == compile_with_spec(dispatch.source, flags, None)[0]


@pytest.mark.parametrize(
    ("file", "target", "pipeline"),
    [
        ("matmul", "sm_80", "TileAndFuse-simt"),
        ("conv_nhwc", "gfx1201", "TileAndFuse-simt"),
        ("vecmat", "sm_80", "TileAndFuse-simt"),
        ("matvec", "gfx942", "VectorDistribute"),
        ("matvec", "sm_80", "VectorDistribute"),
        ("gpu/matmul_2048x1280x5120", "sm_80", "TileAndFuse"),
        ("matmul", "gfx942", "TileAndFuse"),
        ("matmul_i8", "gfx942", "TileAndFuse"),
        ("conv_grouped", "gfx942", "TileAndFuse-igemm"),
        ("gpu/attention_20x4096x64", "sm_80", "VectorDistribute-attention"),
    ],
)
def test_the_default_is_a_candidate(file: str, target: str, pipeline: str, tmp_path: Path) -> None:
    dispatch = read_dispatch(DATA / f"{file}.mlir", target)
    (space,) = (s for s in build_spaces(dispatch) if s.default is not None)
    assert space.pipeline == pipeline
    assert space.default is not None
    assert space.allows(space.default)
    assert_compiles_as_the_default(dispatch, space.render(space.default), tmp_path)


@pytest.mark.parametrize(
    ("file", "target"),
    [
        ("matvec", "sm_80"),
        ("gpu/matmul_2048x1280x5120", "sm_80"),
        ("matmul", "gfx942"),
        ("matmul_i8", "gfx942"),
        ("conv_nhwc", "gfx1201"),
        ("vecmat", "sm_80"),
        ("conv_grouped", "gfx942"),
        ("gpu/attention_20x4096x64", "sm_80"),
    ],
)
def test_what_is_read_is_what_was_chosen(file: str, target: str, tmp_path: Path) -> None:
    """Rendered from its knobs, as other candidates are, it compiles to the same code."""
    dispatch = read_dispatch(DATA / f"{file}.mlir", target)
    (space,) = (s for s in build_spaces(dispatch) if s.default is not None)
    assert space.default is not None
    assert isinstance(space.render, partial)
    # As `with_default` wraps it.
    usual = space.render.args[0]
    assert_compiles_as_the_default(dispatch, usual(dict(space.default)), tmp_path)


@pytest.mark.parametrize("file", ["matmul_f16", "conv_nhwc"])
def test_a_default_that_is_no_solution_is_no_candidate(file: str) -> None:
    """It pads 48 columns to 64; it loads ahead where the compiler's own constraints forbid it."""
    target = "sm_80" if file == "matmul_f16" else "gfx942"
    spaces = build_spaces(read_dispatch(DATA / f"{file}.mlir", target))
    assert [s.default for s in spaces if s.default is not None] == []


def test_what_users_ask_of_pinned_knobs_is_not_widened() -> None:
    dispatch = read_dispatch(DATA / "matmul_i8.mlir", "gfx942")
    (space,) = build_spaces(dispatch, "TileAndFuse", {"stages": (3,)})
    assert space.default is None
    assert {k.name: k.values for k in space.knobs}["stages"] == (3,)


def test_another_configuration_is_no_candidate() -> None:
    dispatch = read_dispatch(DATA / "matmul.mlir", "sm_80")
    chosen = ChosenConfig.parse(dispatch.default)
    assert chosen is not None
    problem, target = dispatch.problem, dispatch.target
    assert knobs_of(problem, target, "TileAndFuse-simt", chosen) is not None
    for change in ({"workgroup_size": (64, 1, 1)}, {"workgroup": (0, 128, 0)}):
        other = replace(chosen, lists={**chosen.lists, **change})
        assert knobs_of(problem, target, "TileAndFuse-simt", other) is None


@pytest.mark.parametrize(
    "text", ["", "#iree_cpu.pipeline<DoubleTilingExpert>", "#iree_gpu.pipeline<TileAndFuse>"]
)
def test_what_is_no_configuration_of_a_gpu(text: str) -> None:
    assert ChosenConfig.parse(text) is None
