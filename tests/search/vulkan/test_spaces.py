"""Vulkan spaces: their sets, the compiler's default in them, and what compiles of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import z3

from frontrunner.benchmarks.operations import Matmul
from frontrunner.core import InputError
from frontrunner.search import Space, backend_of, build_spaces, target_flags
from frontrunner.search.enumeration import (
    add_derived_columns,
    candidate_dicts,
    count,
    enumerate_space,
    sample,
)
from frontrunner.search.mlir import compile_with_spec, spec_text
from frontrunner.search.reading import read_dispatch
from frontrunner.search.spec import spec_of
from frontrunner.search.vulkan.configuration import PROMOTE
from frontrunner.search.vulkan.device import (
    VulkanDevice,
    exchanges_in_subgroups,
    parse_device,
    shortages,
)
from frontrunner.search.vulkan.live import BASELINE, LAVAPIPE, choose_profile, profile_of
from frontrunner.search.vulkan.spaces import build

DATA = Path(__file__).parents[2] / "data"
KINDS = ("matmul", "matmul_odd", "matmul_i8", "batch_matmul", "matvec", "conv_nhwc", "conv_nchw")

pytestmark = pytest.mark.usefixtures("warm")


def solve_all(space: Space) -> set[tuple[int, ...]]:
    """What Z3 itself finds, one solution after the other."""
    solver = z3.Solver()
    solver.add([c.formula for c in space.constraints])
    knobs = [k.var for k in space.knobs]
    for knob in space.knobs:
        solver.add(z3.Or([knob.var == value for value in knob.values]))
    found = set()
    while solver.check() == z3.sat:
        model = solver.model()
        found.add(tuple(model[var].as_long() for var in knobs))
        solver.add(z3.Or([var != model[var] for var in knobs]))
    return found


@pytest.mark.parametrize("name", ["matmul_odd", "matvec"])
def test_enumeration_is_z3s_own_set(name: str) -> None:
    for space in build_spaces(read_dispatch(DATA / f"{name}.mlir", BASELINE)):
        names = [knob.name for knob in space.knobs]
        rows = {tuple(row[n] for n in names) for row in candidate_dicts(enumerate_space(space))}
        assert rows == solve_all(space)


@pytest.mark.parametrize("name", KINDS)
def test_the_default_is_a_candidate(name: str) -> None:
    dispatch = read_dispatch(DATA / f"{name}.mlir", "valhall4")
    found = [space for space in build_spaces(dispatch) if space.default is not None]
    # Of matrix-vector products the default is of a pipeline without a space.
    assert len(found) == (name != "matvec")
    for space in found:
        assert space.default in candidate_dicts(enumerate_space(space))
        assert space.render(space.default) == dispatch.default


@pytest.mark.parametrize("name", ["matmul", "matmul_i8", "conv_nhwc"])
def test_candidates_compile_to_executables_of_their_own(name: str, tmp_path: Path) -> None:
    dispatch = read_dispatch(DATA / f"{name}.mlir", "valhall4")
    flags = dispatch.target.flags
    made = [compile_with_spec(dispatch.source, flags, None)[0]]
    for space in build_spaces(dispatch):
        for row in candidate_dicts(sample(space, 2, seed=1)):
            spec = tmp_path / "spec.mlir"
            spec.write_text(spec_text(spec_of(dispatch, space.render(row))))
            executable, matched = compile_with_spec(dispatch.source, flags, spec)
            assert matched
            made.append(executable)
    assert len(set(made)) == len(made)


@pytest.mark.parametrize("name", ["matmul", "batch_matmul"])
def test_promoted_tiles_that_fill_shared_memory_compile(name: str, tmp_path: Path) -> None:
    """Those that the constraints let through by the least, of each stage of storing."""
    dispatch = read_dispatch(DATA / f"{name}.mlir", "valhall4")
    (space,) = build_spaces(dispatch, PROMOTE)
    found = add_derived_columns(space, sample(space, 1000, seed=1))
    largest = found.sort_values("shared_bytes").groupby("store_stage").tail(2)
    narrowest = found[found["wg_n"] == 2 * found["thread_n"]].head(2)
    assert largest["shared_bytes"].min() > 30_000
    assert len(narrowest) == 2
    knobs = [knob.name for knob in space.knobs]
    for row in candidate_dicts(pd.concat([largest, narrowest])[knobs]):
        spec = tmp_path / "spec.mlir"
        spec.write_text(spec_text(spec_of(dispatch, space.render(row))))
        assert compile_with_spec(dispatch.source, dispatch.target.flags, spec)[1]


def test_types_that_a_profile_lacks_are_refused() -> None:
    dispatch = read_dispatch(DATA / "matmul_i8.mlir", BASELINE)
    with pytest.raises(InputError, match="has no i8, which lhs is in"):
        build_spaces(dispatch)


def test_small_batches_have_candidates() -> None:
    """Batches add no threads: 4 rows and columns are no whole subgroup."""
    dispatch = read_dispatch(DATA / "batch_matmul.mlir", "vulkan-ampere")
    sizes = (64, 4, 4, 64)
    dims = tuple(replace(d, size=n) for d, n in zip(dispatch.problem.dims, sizes, strict=True))
    problem = replace(dispatch.problem, dims=dims)
    for pipeline in ("BaseDistribute", "BaseVectorize"):
        assert count(build(problem, dispatch.target, pipeline)).value > 0


@pytest.mark.parametrize("pipeline", ["BaseVectorize", "MatmulPromoteVectorize"])
def test_odd_sizes_have_candidates_with_idle_threads(pipeline: str) -> None:
    """Tiles divide 197 rows, and 8 columns, into no whole subgroup."""
    dispatch = read_dispatch(DATA / "matmul.mlir", LAVAPIPE)
    sizes = (197, 8, 64)
    dims = tuple(replace(d, size=n) for d, n in zip(dispatch.problem.dims, sizes, strict=True))
    problem = replace(dispatch.problem, dims=dims)
    assert count(build(problem, dispatch.target, pipeline)).value > 0


def test_names_that_others_have_too_are_prefixed() -> None:
    assert backend_of("vulkan-rdna3").name == backend_of("adreno-740").name == "vulkan-spirv"
    assert target_flags("vulkan-rdna3")[-1] == "--iree-vulkan-target=rdna3"
    assert backend_of("rdna3").name == "rocm"


@pytest.mark.parametrize(
    ("vendor", "profile"),
    [(0x10005, LAVAPIPE), (0x1002, "rdna1"), (0x13B5, "valhall1"), (0xFFFF, BASELINE)],
)
def test_a_profile_suits_the_device(vendor: int, profile: str) -> None:
    assert choose_profile(VulkanDevice(vendor)) == profile


def test_a_device_is_what_the_runtime_and_vulkaninfo_tell() -> None:
    told = (
        "name: some\nvendor_id: 0x13b5\nfeatures: storageBuffer8BitAccess=yes "
        "storageBuffer16BitAccess=no shaderInt8=yes shaderFloat16=yes\n"
    )
    limits = {"maxComputeWorkGroupInvocations": 256, "maxComputeSharedMemorySize": 32768}
    found = parse_device(told, limits)
    assert found == VulkanDevice(0x13B5, ("f16",), 256, 32768)
    gpu = read_dispatch(DATA / "matmul.mlir", LAVAPIPE).target.gpu
    assert gpu is not None
    assert [*shortages(found, gpu)] == ["256 threads per workgroup (of 512)", "no f16"]
    # Without `vulkaninfo`, limits are not known.
    assert [*shortages(parse_device(told, {}), gpu)] == ["no f16"]


@pytest.mark.parametrize(
    ("name", "profile", "wrong"),
    [("matvec", LAVAPIPE, True), ("matvec", BASELINE, False), ("matmul", LAVAPIPE, False)],
)
def test_code_that_exchanges_values_in_larger_subgroups_is_told(
    name: str, profile: str, wrong: bool
) -> None:
    dispatch = read_dispatch(DATA / f"{name}.mlir", profile)
    executable, _ = compile_with_spec(dispatch.source, dispatch.target.flags, None)
    assert exchanges_in_subgroups(dispatch.default) == wrong
    assert exchanges_in_subgroups(executable) == wrong


def test_a_machine_without_a_driver_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from frontrunner.search.vulkan import live

    live._live_profile.cache_clear()
    monkeypatch.setenv("VK_DRIVER_FILES", str(tmp_path / "none.json"))
    monkeypatch.setenv("VK_ICD_FILENAMES", str(tmp_path / "none.json"))
    with pytest.raises(InputError, match="no Vulkan device answers") as caught:
        profile_of("vulkan")
    assert "mesa-vulkan-drivers" in caught.value.hint
    live._live_profile.cache_clear()


def test_shared_memory_is_what_a_vulkan_driver_gives() -> None:
    """The compiler's profiles of NVIDIA's chips have what CUDA gives."""
    for target, shared in (("vulkan-ampere", 48 << 10), ("vulkan-turing", 48 << 10)):
        gpu = read_dispatch(DATA / "matmul.mlir", target).target.gpu
        assert gpu is not None and gpu.shared_bytes == shared


@pytest.mark.parametrize(
    ("target", "units"),
    [
        ("valhall4", 16),
        ("adreno", 16),
        (BASELINE, 16),
        ("vulkan-turing", 72),
        ("vulkan-ampere", 108),
        ("vulkan-ada", 128),
        ("vulkan-sm_86", 82),
        ("vulkan-rtx4060", 24),
        ("vulkan-gfx1100", 48),
        ("vulkan-gfx1030", 40),  # whose profile names no architecture
        ("vulkan-rdna1", 40),
    ],
)
def test_desktop_gpus_have_more_units_than_phones(target: str, units: int) -> None:
    assert read_dispatch(DATA / "matmul.mlir", target).target.cores == units


def test_a_default_that_knobs_cannot_say_is_left_out(tmp_path: Path) -> None:
    """Of one column, its first threads are those of the rows: shares of 0 were divided by."""
    path = tmp_path / "column.mlir"
    path.write_text(Matmul(64, 1, 64).mlir())
    dispatch = read_dispatch(path, "vulkan-vp_android_baseline_2022")
    assert "workgroup_size = [64, 1, 1]" in dispatch.default
    for space in build_spaces(dispatch):
        assert space.default is None
        assert (add_derived_columns(space, sample(space, 20, 0)) >= 0).all(axis=None)


def test_sums_of_one_input_have_no_space() -> None:
    """A kind of another package may be so; features of shaders ask for two."""
    dispatch = read_dispatch(DATA / "matmul.mlir", "valhall4")
    lhs, _, out = dispatch.problem.operands
    assert build_spaces(dispatch)
    one = replace(dispatch, problem=replace(dispatch.problem, operands=(lhs, out)))
    assert build_spaces(one) == ()
