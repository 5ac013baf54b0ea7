"""GPU features against values computed by hand, and over real spaces."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from frontrunner.core.errors import InputError
from frontrunner.features import extract
from frontrunner.features.gpu import GPU, GpuView
from frontrunner.search import Dim, Operand, Problem
from frontrunner.search.problem import Intrinsic

# 128x128x64 in four subgroups of 2x2, for gfx942: 304 compute units of four SIMDs.
TILE = {
    "tile_batch": 1, "tile_m": 128, "tile_n": 128, "tile_k": 64,
    "subgroups_m": 2, "subgroups_n": 2, "subgroups_k": 1,
    "mma_m": 16, "mma_n": 16, "mma_k": 16, "qk_m": 16, "qk_n": 16, "qk_k": 16,
    "thread_m": 1, "thread_n": 1, "thread_k": 1, "lanes_k": 1,
    "subgroup_size": 64, "threads": 256, "workgroups": 160, "shared_bytes": 32 << 10,
    "vector_distribute": 0, "igemm": 0, "stages": 2, "bank_padding": 1,
    "waves_per_eu": 0, "flush_denormals": 0,
}  # fmt: skip


def one(samples, problem="large", **changes):
    problem, target = samples.GPU_PROBLEMS[problem]
    return extract(problem, target, pd.DataFrame([TILE | changes])).iloc[0]


def test_an_input_that_is_contiguous_along_a_batch(samples):
    """As images of depthwise convolutions with a channel multiplier are."""
    dims = (Dim("b", 8, "batch", True), Dim("m", 64, "m", True), Dim("k", 32, "k", False))
    problem = Problem(
        "contraction",
        "linalg.generic",
        (*dims, Dim("n", 16, "n", True)),
        (
            Operand("lhs", "f16", (((1, 1),), ((2, 1),), ((0, 1),))),
            Operand("rhs", "f16", (((3, 1),), ((2, 1),), ((0, 1),))),
            Operand("out", "f32", (((0, 1),), ((1, 1),), ((3, 1),)), output=True),
        ),
    )
    found = extract(problem, samples.SM_80, pd.DataFrame([TILE | {"tile_batch": 4}]))
    assert np.isfinite(found.to_numpy()).all()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tile_m_log2", 7),
        ("tile_k_pow2", 1),
        ("odd_tiles", 0),
        ("tile_aspect_log2", 0),
        ("tile_area_log2", 14),
        ("padding", 0),
        ("k_padding", 0),
        ("subgroups_n_log2", 1),
        ("fragments_m_log2", 2),  # 128 rows in two subgroups of 16-row instructions
        ("fragments_k_log2", 2),
        ("subgroup_aspect_log2", 0),
        ("fragment_loads", 1 / 4 + 1 / 4),
        ("mma_per_step_log2", 6),
        ("mma_k_log2", 4),
        ("mma_area_to_volume", 3 / 16),
        ("qk_area_to_volume", 3 / 16),
        ("mma_reuse", 1 / 8),
        ("k_steps_log2", math.log2(80)),
        ("workgroups_log2", math.log2(160)),
        ("workgroups_per_core_log2", math.log2(160 / 304)),
        ("idle_cores", 144 / 304),
        ("wave_waste", 304 / 160 - 1),
        ("resident_wave_waste", 2 * 304 / 160 - 1),
        ("simd_waste", 0),
        ("critical_path_log2", math.log2(304 / 160)),
        ("threads_log2", 8),
        ("subgroups_per_simd_log2", 0),
        ("fits_shared_log2", 1),
        ("fits_threads_log2", 3),
        # 64 f32 sums a thread; and of 64 rows and 64 columns, 16 deep, its share of the operands.
        ("fits_registers_log2", math.log2(16384 / (64 * 32 + 2 * 64 * 16 * 16 / 64))),
        ("accumulator_share", 64 * 32 / 16384),
        ("register_share", (64 * 32 + 512) / 16384),
        ("resident_log2", 1),
        ("occupancy_log2", 0),  # two workgroups would fit a unit, and there is only one
        ("shared_share", 1 / 2),
        ("workgroup_intensity_log2", math.log2(2 * 128 * 128 / ((128 + 128) * 2))),
        ("traffic_log2", math.log2(160 * 2 * 128 / (2048 + 1280))),
        ("wave_l2_log2", math.log2(160 * 32 / (32 << 10))),
        ("loads_lhs_log2", math.log2(128 * 64 * 2 / 256 / 16)),
        ("uneven_copies", 0),
        ("run_lhs_log2", 7),
        ("run_rhs_log2", 7),  # the rhs is transposed
        ("line_use_rhs", 1),
        ("bank_stride_lhs", 5),
        ("bank_padding", 1),
        ("stages", 2),
        ("size_k_log2", math.log2(5120)),
        ("kind_contraction", 1),
        ("target_cores_log2", math.log2(304)),
        ("target_shared_log2", 16),
        ("target_registers_log2", 14),
        ("target_l2_log2", 25),
    ],
)
def test_of_a_matmul(samples, name, expected):
    assert one(samples)[name] == pytest.approx(expected, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("thread_m_log2", 3),
        ("thread_n_log2", 3),
        ("thread_loads", 1 / 8 + 1 / 8),
        ("thread_run_log2", 0),  # eight results in f16 are a load of 16 bytes
    ],
)
def test_threads_that_multiply_by_themselves(samples, name, expected):
    own = {"mma_m": 1, "mma_n": 1, "mma_k": 1, "thread_m": 8, "thread_n": 8}
    assert one(samples, **own)[name] == pytest.approx(expected)


def test_of_a_shared_sum(samples):
    shared = {"mma_m": 1, "mma_n": 1, "mma_k": 1, "vector_distribute": 1, "lanes_k": 16}
    row = one(samples, **shared, thread_k=4)
    assert (row["lanes_k_log2"], row["thread_k_log2"], row["thread_loads"]) == (4, 2, 0)


def test_tiles_that_are_no_powers_of_two(samples):
    row = one(samples, tile_m=80, tile_k=80, subgroups_m=1)
    assert row[["tile_m_pow2", "tile_n_pow2", "tile_k_pow2"]].tolist() == [0, 1, 0]
    assert row["odd_tiles"] == 2
    # 160 bytes of the lhs in a row: two lines, and an eighth of the rows in each bank.
    assert row["run_lhs_log2"] == pytest.approx(math.log2(160))
    assert row["line_use_lhs"] == pytest.approx(160 / 256)
    assert row["bank_stride_lhs"] == 3


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({}, 0),
        ({"tile_k": 80}, 2),  # ten loads a row do not divide 256 threads
        ({"tile_k": 80, "threads": 320}, 0),  # 32 rows at once
        ({"tile_k": 16, "tile_n": 80}, 0),  # 128 rows at once: the 80 need only one go
        ({"tile_k": 16, "tile_n": 80, "threads": 64}, 1),  # 32 rows at once do not divide 80
        ({"tile_k": 16, "tile_n": 160, "threads": 64}, 0),
        ({"tile_k": 8, "tile_m": 48, "threads": 32}, 1),
        ({"tile_k": 512, "threads": 32}, 0),  # two loads of each thread are a row
        ({"tile_k": 320, "threads": 32}, 2),
    ],
)
def test_copies_that_threads_cannot_share_out(samples, changes, count):
    assert one(samples, **changes)["uneven_copies"] == count
    assert one(samples, **changes)["uneven_vector_distribute"] == 0
    assert one(samples, **changes, vector_distribute=1)["uneven_vector_distribute"] == count
    assert one(samples, **changes, vector_distribute=1, mma_m=1)["uneven_vector_distribute"] == 0


def test_tiles_that_do_not_divide_the_problem(samples):
    row = one(samples, "odd", workgroups=80)
    assert row["padding"] == pytest.approx(1024 / 1000 - 1)
    assert row["k_padding"] == pytest.approx(79 * 64 / 5000 - 1)


def test_two_small_workgroups_share_a_unit(samples):
    row = one(samples, threads=128, subgroups_m=1, workgroups=608)
    assert row["simd_waste"] == 1
    assert row["critical_path_log2"] == row["occupancy_log2"] == 0


def test_subgroups_along_the_reduction_have_sums_of_their_own(samples):
    split = one(samples, subgroups_k=2, threads=512)
    assert split["accumulator_share"] == one(samples)["accumulator_share"]
    assert split["fragments_k_log2"] == 1


def test_sums_that_do_not_fit(samples):
    row = one(samples, tile_m=512, tile_n=512, shared_bytes=128 << 10)
    assert row["accumulator_share"] == 2
    assert row["resident_log2"] == 0


def test_a_rhs_that_is_not_transposed_runs_along_n(samples):
    row = one(samples, "odd", tile_n=32)
    assert row["run_rhs_log2"] == 6
    assert row["line_use_rhs"] == 1 / 2


def test_a_missing_column_is_named(samples):
    problem, target = samples.GPU_PROBLEMS["large"]
    frame = pd.DataFrame([TILE]).drop(columns="tile_m")
    with pytest.raises(InputError, match="lack the column 'tile_m'"):
        extract(problem, target, frame)
    assert GpuView(problem, target, frame)["tile_n"].tolist() == [128]


def test_knobs_beside_the_derived_columns_do_not_matter(samples):
    assert one(samples, wg_0=64, dist_m=3).equals(one(samples))
    assert tuple(one(samples).index) == GPU.names


def test_attention_loads_its_query_once(samples):
    problem, target = samples.GPU_PROBLEMS["attention"]
    view = GpuView(problem, target, pd.DataFrame([TILE]))
    assert view.steps[0] == 1024 / 64
    assert view.step_bytes["lhs"][0] == 128 * 64 * 2 / 16
    assert view.step_bytes["rhs"][0] == 64 * (64 + 128) * 2
    assert view.step_flops[0] == 2 * 128 * 64 * (64 + 128)
    assert view.min_contiguous_bytes("rhs")[0] == 64 * 2


def test_attention_packs_its_scores_into_shared_memory(samples):
    row = one(samples, "attention", tile_k=24)
    assert row["qk_misfit"] == 1
    assert row["shared_share"] == pytest.approx(((32 << 10) + 128 * 24 * 2) / (64 << 10))
    assert one(samples, "attention")["qk_misfit"] == one(samples, tile_k=24)["qk_misfit"] == 0


def on(target, problem, **changes):
    return extract(problem, target, pd.DataFrame([TILE | {"subgroup_size": 32} | changes])).iloc[0]


def matmul_of(*types):
    """128x128 outputs of 64 multiply-adds, rows of both operands in memory."""
    lhs, rhs, out = types
    return Problem(
        "contraction",
        "linalg.generic",
        (Dim("m", 4096, "m", True), Dim("n", 4096, "n", True), Dim("k", 4096, "k", False)),
        (
            Operand("lhs", lhs, (((0, 1),), ((2, 1),))),
            Operand("rhs", rhs, (((1, 1),), ((2, 1),))),
            Operand("out", out, (((0, 1),), ((1, 1),)), output=True),
        ),
    )


PLAIN = matmul_of("f16", "f16", "f32")


def test_a_unit_holds_more_than_one_workgroup_may_have(samples):
    """Of 32 KiB and 1 KiB reserved each: of 228 KiB in an H200, whose code is an A100's."""
    a100, h200 = samples.SM_80, replace(samples.SM_80, name="h200")
    fits = [2 ** on(t, PLAIN)["fits_shared_log2"] for t in (a100, h200, samples.RDNA3)]
    assert fits == pytest.approx([164 / 33, 228 / 33, 128 / 32])
    assert on(a100, PLAIN)["shared_share"] == pytest.approx(32 / 163)


def test_registers_are_of_the_file_not_of_a_thread(samples):
    """Files have 256 and 768 KiB, which 32 KiB of sums and operands 16 deep share."""
    for target, file, copies in ((samples.SM_80, 256, 1), (samples.RDNA3, 768, 2)):
        row = on(target, PLAIN, tile_m=64, threads=128)
        operands = (32 + 64) * 16 * 2 * 4 / 1024
        assert 2 ** row["fits_registers_log2"] == pytest.approx(file / (32 + copies * operands))


@pytest.mark.parametrize(
    ("arch", "fit"), [("sm_75", 16), ("sm_80", 32), ("sm_86", 16), ("sm_89", 24)]
)
def test_a_unit_holds_so_many_workgroups(samples, arch, fit):
    row = on(replace(samples.SM_80, arch=arch, name=arch), PLAIN, threads=32)
    assert 2 ** row["fits_threads_log2"] == pytest.approx(fit)


@pytest.mark.parametrize(("arch", "fit"), [("sm_75", 4), ("sm_80", 8), ("sm_86", 6)])
def test_a_unit_holds_so_many_threads(samples, arch, fit):
    row = on(replace(samples.SM_80, arch=arch, name=arch), PLAIN)
    assert 2 ** row["fits_threads_log2"] == pytest.approx(fit)


@pytest.mark.parametrize(
    ("name", "types", "bits"),
    [
        ("NV_MMA_SYNC_F16_16x8x16_F16", ("f16", "f16", "f16"), 16),
        ("NV_MMA_SYNC_F32_16x8x16_F16", ("f16", "f16", "f32"), 32),
        ("WMMAR3_F16_16x16x16_F16", ("f16", "f16", "f16"), 32),
        ("WMMAR4_F16_16x16x16_F16", ("f16", "f16", "f16"), 16),
        ("WMMAR4_BF16_16x16x16_BF16", ("bf16", "bf16", "bf16"), 16),
    ],
)
def test_instructions_may_keep_two_sums_in_a_register(samples, name, types, bits):
    gpu = replace(samples.RDNA3.gpu, intrinsics=(Intrinsic(name, 16, 16, 16, types),))
    target, problem = replace(samples.RDNA3, gpu=gpu), matmul_of(*types)
    assert on(target, problem)["accumulator_share"] == pytest.approx(64 * bits / 8192)
    alone = on(target, problem, mma_m=1, mma_n=1, mma_k=1)
    assert alone["accumulator_share"] == pytest.approx(64 * 32 / 8192)


def test_operands_are_there_twice_on_rdna3(samples):
    """Of 64 rows and 64 columns, 16 deep."""
    operands = 2 * 64 * 16 * 16 / 32
    rdna4 = replace(samples.RDNA3, arch="gfx1201")
    for target, copies in ((samples.RDNA3, 2), (rdna4, 1)):
        found = on(target, PLAIN)
        shares = found["register_share"] - found["accumulator_share"]
        assert shares == pytest.approx(copies * operands / 8192)


def test_nvidia_fetches_sectors_of_lines(samples):
    used = {16: (1, 1 / 4), 20: (40 / 64, 40 / 128), 64: (1, 1)}
    for tile_k, expected in used.items():
        shares = [
            on(t, PLAIN, tile_k=tile_k)["line_use_lhs"] for t in (samples.SM_80, samples.GFX942)
        ]
        assert shares == pytest.approx(expected)


def channels_first():
    """A convolution that reads and writes rows of pixels."""
    image = (((0, 1),), ((4, 1),), ((2, 1), (5, 1)), ((3, 1), (6, 1)))
    return Problem(
        "convolution",
        "linalg.conv_2d_nchw_fchw",
        (
            *(Dim(n, 1 if n == "batch" else 64, r, True) for n, r in (("batch", "m"), ("oc", "n"))),
            *(Dim(n, 64, "m", True) for n in ("oh", "ow")),
            Dim("ic", 64, "k", False),
            *(Dim(n, 3, "k", False) for n in ("fh", "fw")),
        ),
        (
            Operand("lhs", "f32", image),
            Operand("rhs", "f32", (((1, 1),), ((4, 1),), ((5, 1),), ((6, 1),))),
            Operand("out", "f32", (((0, 1),), ((1, 1),), ((2, 1),), ((3, 1),)), output=True),
        ),
        traits=(("depthwise", 0), ("dilation", 1), ("grouped", 0), ("stride", 1)),
    )


def test_runs_of_channels_first_images_are_of_the_innermost_loop_alone(samples):
    """Of 8 rows of 16 pixels, a thread has 2 of 4; three taps of a window are read in a step."""
    alone = {"mma_m": 1, "mma_n": 1, "mma_k": 1, "tile_m": 128, "thread_m": 8, "tile_k": 12}
    knobs = {"wg_2": 8, "wg_3": 16, "thread_2": 2, "thread_3": 4, "red_4": 4, "red_6": 3}
    together = on(samples.SM_80, channels_first(), **alone)
    own = on(samples.SM_80, channels_first(), **alone, **knobs)
    assert (together["run_lhs_log2"], own["run_lhs_log2"]) == (8, 6)
    assert (together["thread_run_log2"], own["thread_run_log2"]) == (1, 0)
    assert own["run_rhs_log2"] == pytest.approx(math.log2(3 * 4))
    # The knobs of a convolution that is made a matmul are about the matmul's loops.
    matmul = on(samples.SM_80, channels_first(), **alone, **knobs, igemm=1)
    assert (matmul["run_lhs_log2"], matmul["thread_run_log2"]) == (8, 1)


def test_steps_are_counted_in_instructions_where_the_pipeline_does(samples):
    """A step of four instructions, each 16 deep: 64 elements of f16."""
    fused, laid_out = ({"red_2": 4}, {"red_2": 64, "vector_distribute": 1})
    for knobs in ({}, fused, laid_out):
        assert on(samples.SM_80, PLAIN, **knobs)["run_lhs_log2"] == 7
