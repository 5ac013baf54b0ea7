"""CPU features against values computed by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
import pytest

from frontrunner.features import extract
from frontrunner.features.cpu import CpuView
from frontrunner.search.problem import Dim, Operand, Problem


def one(samples, problem, **knobs):
    return extract(problem, samples.TARGET, pd.DataFrame([knobs])).iloc[0]


@pytest.fixture
def skinny(samples):
    """32x2048x2048 f32; workgroups 32x256, cache tiles 32x128x256, vectors 8x32x4; 8 cores."""
    return one(
        samples,
        samples.SKINNY,
        dist_m=32, dist_n=256, cache_m=32, cache_n=128, cache_k=256, vec_m=8, vec_n=32, vec_k=4,
        peel=0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dist_n_log2", 8),
        ("vec_m_log2", 3),
        ("vec_k_pow2", 1),
        ("area_to_volume", 1 / 8 + 1 / 32 + 1 / 4),
        ("vec_aspect_log2", 2),
        ("vec_waste", 0),
        ("partial", 0),
        # 8 rows of two 16-lane vectors; plus two rhs vectors and one broadcast; of 32 registers.
        ("accumulator_pressure", 16 / 32),
        ("register_pressure", 19 / 32),
        ("loads_per_fma", (2 + 8) / 16),
        ("vector_ops_log2", 6),  # 8 rows x 2 vectors x 4 steps
        ("register_intensity_log2", math.log2(2 * 8 * 32 * 4 / (4 * (8 * 4 + 4 * 32)))),
        ("inner_vectors_out", 1),
        ("lane_fill_lhs", 16 / 64),
        # The panel: 8x256 of the lhs, 256x32 of the rhs, 8x32 of the output, in 32 KiB.
        ("panel_l1", math.log2(4 * (8 * 256 + 256 * 32 + 8 * 32) / 32768)),
        ("cache_rhs_l2", math.log2(256 * 128 * 4 / (1 << 20))),
        ("dist_out_l2", -5),  # 32 x 256 x 4 bytes: 32 KiB of 1 MiB
        ("dist_l3", math.log2(8 * 4 * (32 * 2048 + 2048 * 256 + 32 * 256) / (32 << 20))),
        ("run_vec_rhs", 7),  # 32 x 4 bytes
        ("run_cache_lhs", 10),  # 256 x 4 bytes
        ("conflicts_rhs", 8),  # 256 rows of a panel, 8 KiB apart
        ("pages_rhs", 8),
        ("workgroups_log2", 3),
        ("critical_path", 0),
        ("vec_tiles_log2", math.log2(4 * 64 * 512)),
        ("k_steps_log2", 6),
        ("accumulator_visits_log2", 3),
        ("size_k_log2", 11),
        ("kind_contraction", 1),
        ("target_cores_log2", 3),
        ("executed_ops_log2", 0),
        ("shuffles_per_op", 0),
        # 64 multiply-adds, two in a cycle, and 3 cycles for the loops around; 40 loads take less.
        ("core_cycles_log2", math.log2((32 + 3) / 32)),
        # L1 holds 512 lines, and the panel of 656 is more: all of it is fetched again in each of
        # 2 x 8 x 4 x 4 iterations around it. There are 270336 lines in all.
        ("l1_lines_log2", math.log2(8 * 2 * 8 * 4 * 4 * (128 + 512 + 16) / 270336)),
        # L2 holds 16384: a row of cache tiles (4096 + 16384 + 256) is fetched for each of two.
        ("l2_lines_log2", math.log2(8 * 2 * (4096 + 16384 + 256) / 270336)),
    ],
)
def test_of_a_matmul(skinny, name, expected):
    assert skinny[name] == pytest.approx(expected, rel=1e-6)


def test_remainders_pass_through_every_level(samples):
    # m = 197: three workgroups of 64 rows and one of 5; vectors of 6 rows leave 4 rows of a 64
    # (60 in full ones), and all 5 of the last.
    knobs = {
        "dist_m": 64,
        "cache_m": 64,
        "vec_m": 6,
        "dist_n": 768,
        "vec_n": 16,
        "cache_k": 100,
        "vec_k": 8,
    }
    row = one(samples, samples.matmul(197, 768, 768), **knobs, peel=1)
    in_full_k = (7 * 96 + 64) / 768  # 7 x 100, then 68, in steps of 8
    assert row["partial"] == pytest.approx(1 - 180 / 197 * in_full_k)
    assert row["partial_peeled"] == row["partial"]
    assert row["partial_unpeeled"] == 0
    assert row["dist_waste"] == pytest.approx(256 / 197 - 1)
    assert row["vec_waste"] == pytest.approx(66 / 64 * 104 / 100 - 1)
    assert row["vec_tiles_log2"] == pytest.approx(math.log2((3 * 11 + 1) * 48 * (7 * 13 + 9)))
    # Four workgroups on eight cores.
    assert row["critical_path"] == pytest.approx(math.log2(64 * 8 / 197))
    # 6 x 1 x 8 vector operations; two ragged loops are peeled.
    assert row["code_size_log2"] == pytest.approx(math.log2(48) + 2)


def test_spilled_registers(samples):
    row = one(samples, samples.SKINNY, vec_m=16, vec_n=64, vec_k=1)
    assert row["register_pressure"] == pytest.approx((64 + 4 + 1) / 32)


def test_a_loop_of_unknown_size_may_leave_a_remainder(samples):
    tiles = {"dist_m": 16, "vec_m": 4, "vec_n": 16, "vec_k": 4}
    for problem, clean in ((samples.SKINNY, 1), (samples.SKINNY.with_dynamic(["m"]), 0)):
        assert one(samples, problem, **tiles, peel=0)["peel"] == clean
        assert one(samples, problem, **tiles, peel=1)["peel"] == 1


def test_lanes_left_empty(samples):
    row = one(samples, samples.SKINNY, vec_n=20, vec_m=4, vec_k=1)
    assert row["lane_fill_out"] == pytest.approx(80 / 128)


def test_a_strided_convolution_reads_halos(samples):
    problem = samples.conv(28, 128, 128, stride=2)
    tiles = {
        "dist_oh": 4,
        "dist_ow": 7,
        "dist_oc": 128,
        "vec_oh": 1,
        "vec_ow": 4,
        "vec_oc": 32,
        "vec_fh": 1,
    }
    view = CpuView(problem, samples.TARGET, pd.DataFrame([tiles | {"vec_fw": 1, "vec_ic": 8}]))
    # 1 + 2 * (4 - 1) + (3 - 1) rows, 1 + 2 * (7 - 1) + 2 columns, 128 channels.
    assert view.footprint["dist", "lhs"][0] == 9 * 15 * 128 * 4
    assert view.footprint["vec", "lhs"][0] == 1 * 7 * 8 * 4
    assert view.by_role["vec", "m"][0] == 4
    assert view.workgroups[0] == 7 * 4
    row = one(samples, problem, **tiles, vec_fw=1, vec_ic=8)
    read, written = 9 * 15 * 128 + 9 * 128 * 128, 4 * 7 * 128
    needed = 57 * 57 * 128 + 9 * 128 * 128 + 28 * 28 * 128
    assert row["traffic_dist_log2"] == pytest.approx(math.log2(28 * (read + written) / needed))


def test_a_depthwise_channel_is_loaded_as_vectors_on_both_sides(samples):
    row = one(samples, samples.depthwise(56, 144), vec_oh=1, vec_ow=4, vec_c=16, vec_fh=1, vec_fw=1)
    # Per step: 4 vectors of the image and 1 of the filter, for 4 multiply-adds.
    assert row["loads_per_fma"] == pytest.approx(5 / 4)
    assert row["depthwise"] == 1


def test_attention_counts_both_products_and_the_scores(samples):
    problem = samples.attention(20, 1024, 1024, 64)
    tiles = {
        "dist_batch": 1,
        "dist_m": 64,
        "dist_n": 64,
        "vec_m": 8,
        "vec_n": 32,
        "vec_k1": 64,
        "vec_k2": 16,
    }
    view = CpuView(problem, samples.TARGET, pd.DataFrame([tiles]))
    assert view.flops["vec"][0] == 2 * 8 * 16 * (32 + 64)
    # 8 rows of two f32 vectors, and 8 x 16 scores.
    assert view.accumulators[0] == 16 + 8
    assert view.footprint["vec", "rhs"][0] == 2 * (16 * 64 + 16 * 32)


def test_a_transposed_rhs_is_contiguous_along_the_reduction(samples):
    problem = samples.matmul(128, 1024, 1024, "f16", transposed=True)
    row = one(samples, problem, dist_n=32, cache_k=256, vec_n=16, vec_k=4, vec_m=4)
    assert row["run_vec_rhs"] == 3  # four f16
    assert row["run_cache_rhs"] == 9
    assert row["rhs_inner_is_k"] == 1
    # It is brought into rows of 16 f32, by as many elements as there are for a step's 4 x 16 sums.
    assert row["lane_fill_rhs"] == 1
    # Ten elements take four shuffles of a cycle each; 16 multiply-adds take 8 cycles.
    assert row["shuffles_per_op"] == pytest.approx(64 * 0.4 / 16)
    assert row["core_cycles_log2"] == pytest.approx(math.log2((64 * 0.4 + 3) / 8))
    # A square of 16 by 16 takes four shuffles for each vector, other ones one for each element.
    square = one(samples, problem, vec_n=16, vec_k=16, vec_m=4)
    assert square["shuffles_per_op"] == 16 * 4 / (4 * 16)
    odd = one(samples, problem, vec_n=16, vec_k=3, vec_m=4, peel=1)
    assert odd["shuffles_per_op"] == 16 * 3 / (4 * 3)


def test_all_that_fits_is_fetched_once(samples):
    row = one(samples, samples.matmul(16, 16, 16), vec_m=4, vec_n=16, vec_k=1)
    assert row["l1_lines_log2"] == 0
    assert row["l2_lines_log2"] == 0


def test_sums_that_wait_for_each_other(samples):
    row = one(samples, samples.SKINNY, vec_m=1, vec_n=16, vec_k=8)
    # Eight multiply-adds into one register, 2.5 cycles each, where two could be done in each.
    assert row["core_cycles_log2"] == pytest.approx(math.log2(20 / 4))


def test_what_is_spilled_is_stored_and_loaded(samples):
    row = one(samples, samples.SKINNY, vec_m=32, vec_n=32, vec_k=1)
    # 64 accumulators, two vectors of the rhs and a broadcast element, of 32 registers: 35 are
    # missing. Storing and loading one counts as two loads, beside 2 vectors and 32 elements of the
    # inputs. So it does for the 64 sums, once in 2048 steps.
    loads = 2 + 32 + 2 * 1.4 * 35 + 2 * 64 / 2048
    assert row["core_cycles_log2"] == pytest.approx(math.log2((loads / 2 + 3) / 32))


def test_maps_of_more_vectors_than_there_are_registers_are_spilled(samples):
    dims = (Dim("m", 512, "m", True), Dim("n", 768, "n", True))
    given = Operand("in0", "f32", (((0, 1),), ((1, 1),)))
    problem = Problem("generic", "linalg.generic", dims, (given, replace(given, output=True)))
    # 32 vectors of each: 32 are stored and loaded, which counts as two loads.
    row = one(samples, problem, vec_m=8, vec_n=64)
    assert row["core_cycles_log2"] == pytest.approx(math.log2(((32 + 2 * 32) / 2 + 3) / (32 / 2)))


def test_what_a_vector_tile_needs_again_is_kept(samples):
    # With one step of the reduction, the rows of a cache tile are the loop around a vector tile.
    problem = samples.matmul(128, 1024, 96, transposed=True)
    tiles = {"cache_m": 32, "vec_m": 2, "cache_n": 16, "vec_n": 16, "vec_k": 6, "peel": 1}
    many = one(samples, problem, **tiles, cache_k=6)
    assert many["shuffles_per_op"] == pytest.approx(16 * 6 / (32 / 2) / (2 * 6))
    assert one(samples, problem, **tiles, cache_k=96)["shuffles_per_op"] == 16 * 6 / (2 * 6)
    # 28 sums leave four registers, and six vectors do not fit.
    full = one(samples, problem, **tiles | {"cache_m": 112, "vec_m": 28}, cache_k=6)
    assert full["shuffles_per_op"] == pytest.approx(16 * 6 / (28 * 6))


def test_tiles_of_unknown_size_are_masked(samples):
    known = {"dist_m": 32, "vec_m": 4, "dist_n": 64, "vec_n": 16, "vec_k": 2, "peel": 0}
    # Remainders of 4 rows, of workgroups of 12: all vector tiles are whole, but it is not known.
    rows = [
        *(known, known | {"dist_m": 12}, known | {"dist_m": 12, "peel": 1}),
        *(known | {"dist_m": 12, "vec_m": 1}, known | {"vec_k": 3}),
    ]
    frame = extract(samples.matmul(64, 128, 256), samples.TARGET, pd.DataFrame(rows))
    assert list(frame["peel"]) == [1, 0, 1, 1, 0]
    assert list(frame["partial"] > 0) == [False, False, False, False, True]
    # A shuffle and a half for each operation, without which elements come from memory.
    assert list(frame["shuffles_per_op"]) == [0, 1.5, 0, 0, 1.5]
    narrow = replace(samples.TARGET, vector_bytes=32, registers=16)
    frame = extract(samples.matmul(64, 128, 256), narrow, pd.DataFrame(rows))
    assert list(frame["shuffles_per_op"]) == [0, 3, 0, 0, 3]


def test_sums_in_odd_vectors_are_taken_apart_at_each_step(samples):
    tiles = {"vec_m": 4, "vec_k": 2, "cache_k": 64}
    frame = [
        *({"vec_n": 48} | tiles, {"vec_n": 64} | tiles, {"vec_n": 12} | tiles),
        {"vec_n": 48} | tiles | {"cache_k": 2},  # stored after each step
    ]
    frame = [{"dist_n": one["vec_n"]} | one for one in frame]
    rows = extract(samples.matmul(64, 576, 256), samples.TARGET, pd.DataFrame(frame))
    assert list(rows["shuffles_per_op"]) == [1.5 * 4 * 48 / (4 * 3 * 2), 0, 0, 0]


def test_convolutions_are_scalar_in_tiles_of_unknown_size(samples):
    problem = samples.conv(28, 64, 64)
    tiles = {"dist_oc": 64, "vec_oc": 16, "dist_ow": 28, "vec_ow": 7, "vec_ic": 4}
    tiles |= {"vec_fh": 1, "vec_fw": 1, "vec_oh": 1, "dist_oh": 4}
    rows = pd.DataFrame([tiles, tiles | {"dist_ow": 21}])
    vectorized, scalar = extract(problem, samples.TARGET, rows)["core_cycles_log2"]
    # 28 multiply-adds, two in a cycle, 28 broadcasts and 4 vectors, and 7 sums that are loaded and
    # stored once in 3 x 3 x 16 steps; or two cycles for each point.
    assert vectorized == pytest.approx(math.log2(((28 + 4 + 2 * 7 / 144) / 2 + 3) / 14))
    assert scalar == pytest.approx(math.log2(2 * 16 * 2))
    # Depthwise ones are vectorized nonetheless if the whole window is unrolled.
    problem = samples.depthwise(28, 64)
    tiles = {"dist_c": 64, "vec_c": 16, "dist_ow": 21, "vec_ow": 7, "vec_oh": 1, "dist_oh": 4}
    tiles |= {"vec_fh": 3, "vec_fw": 3}
    rows = pd.DataFrame([tiles, tiles | {"vec_fh": 1}, tiles | {"vec_fh": 1, "vec_ow": 1}])
    whole, scalar, known = extract(problem, samples.TARGET, rows)["core_cycles_log2"]
    assert scalar == pytest.approx(math.log2(2 * 16 * 2))
    # 63 and 1 multiply-adds of nine and one points, and 3 cycles around them.
    assert whole < math.log2((63 + 9 + 3) / (63 / 2))
    assert known < 3.5
    assert scalar > 5
    # `DoubleTilingExpert` vectorizes neither, and those with channels first take a whole window.
    rows = pd.DataFrame([tiles | {"peel": 1}])
    assert extract(problem, samples.TARGET, rows)["core_cycles_log2"][0] == 6
    first = samples.channels_first(problem)
    tiles |= {"dist_ow": 28}
    rows = pd.DataFrame([tiles, tiles | {"vec_fh": 1}])
    whole, scalar = extract(first, samples.TARGET, rows)["core_cycles_log2"]
    assert whole < scalar == 6


def test_unrolled_windows_are_never_masked(samples):
    problem = samples.conv(28, 64, 64)
    tiles = {"dist_ow": 12, "vec_ow": 4, "vec_fh": 3, "vec_fw": 3}
    rows = pd.DataFrame([tiles, tiles | {"vec_fh": 1}])
    assert list(extract(problem, samples.TARGET, rows)["peel"]) == [1, 0]


def test_what_is_dynamic_has_no_known_size(samples):
    problem = samples.matmul(64, 128, 256).with_dynamic(["m"])
    tiles = {"dist_m": 32, "vec_m": 4, "dist_n": 64, "vec_n": 16, "vec_k": 2, "peel": 0}
    rows = pd.DataFrame([tiles, tiles | {"vec_m": 1}, tiles | {"peel": 1}])
    assert list(extract(problem, samples.TARGET, rows)["peel"]) == [0, 1, 1]


def test_smaller_workgroups_go_to_idle_cores(samples):
    problem = samples.matmul(320, 64, 64)
    whole = one(samples, problem, dist_m=64, vec_m=4)
    assert whole["critical_path"] == pytest.approx(math.log2(8 / 5))
    target = replace(samples.TARGET, cores=2)
    tiles = pd.DataFrame([{"dist_m": 64, "vec_m": 4}, {"dist_m": 128, "vec_m": 4}])
    rows = extract(problem, target, tiles)
    # Five workgroups on two cores; or two of 128 rows, and one of 64 on one of them.
    assert list(rows["critical_path"]) == pytest.approx([math.log2(6 / 5)] * 2)
    # Three of 90 rows, and one of 50 beside the third.
    tiles = pd.DataFrame([{"dist_m": 90, "vec_m": 4}])
    rows = extract(problem, target, tiles)
    assert list(rows["critical_path"]) == pytest.approx([math.log2(180 / 160)])


def test_roles_are_what_loops_are_to_vectors(samples):
    dims = (Dim("d0", 64, "m", True), Dim("d1", 32, "n", True), Dim("d2", 48, "n", True))
    columns = Operand("in0", "f32", (((0, 1),), ((1, 1),), ((2, 1),)))
    factors = Operand("in1", "f32", (((1, 1),),))
    output = Operand("out", "f32", (((1, 1),), ((2, 1),), ((0, 1),)), output=True)
    problem = Problem("generic", "linalg.generic", dims, (columns, factors, output))
    tiles = {"vec_d0": 16, "vec_d1": 2, "vec_d2": 4}
    view = CpuView(problem, samples.TARGET, pd.DataFrame([tiles]))
    assert [d.role for d in view.dims] == ["n", "m", "m"]
    assert view.slots == {"lhs": (factors,), "rhs": (columns,), "out": (output,)}
    assert view.by_role["vec", "n"][0] == 16
    assert view.loads == (2 * 4, 2)
    row = one(samples, problem, **tiles)
    # Vectors of rows, which the input has as columns: ten elements take four shuffles.
    assert row["shuffles_per_op"] == pytest.approx(16 * 0.4)


def test_elements_are_contiguous_along_the_last_loop_that_has_several(samples):
    dims = (Dim("d0", 64, "m", True), Dim("d1", 1, "m", True))
    given = Operand("in0", "f32", (((0, 1),), ((1, 1),)))
    output = replace(given, name="out", output=True)
    problem = Problem("generic", "linalg.generic", dims, (given, output))
    view = CpuView(problem, samples.TARGET, pd.DataFrame([{"vec_d0": 16}]))
    assert view.inner_loop(output) == view.vector_loop == 0
    assert one(samples, problem, vec_d0=16)["shuffles_per_op"] == 0


def vectorized(samples, problem, *candidates):
    """The names of the loops whose points share a vector."""
    view = CpuView(problem, samples.TARGET, pd.DataFrame(candidates))
    return [problem.dims[loop].name for loop in view.vector_loops]


def test_reductions_are_added_up_within_vectors_unless_the_tile_has_one_of_their_points(samples):
    dims = (Dim("n", 256, "n", True), Dim("k", 1024, "k", False))
    columns = Operand("in0", "f32", (((1, 1),), ((0, 1),)))
    output = Operand("out", "f32", (((0, 1),),), output=True)
    problem = Problem("generic", "linalg.generic", dims, (columns, output))
    single, several = {"vec_n": 64, "vec_k": 1}, {"vec_n": 8, "vec_k": 32}
    assert vectorized(samples, problem, single, several) == ["n", "k"]
    rows = extract(problem, samples.TARGET, pd.DataFrame([single, several]))
    assert list(rows["vec_n_log2"]) == [6, 0]
    assert list(rows["vec_m_log2"]) == [0, 3]
    assert list(rows["inner_vectors_rhs"]) == [2, 1]
    # Eight sums are in a register of 16, of 32; 64 in four.
    assert list(rows["accumulator_pressure"]) == [4 / 32, 1 / 32]
    # Each sum takes two vectors, which are transposed, and the last 16 elements four halvings.
    transposed, within = 8 * 32 * 0.4, 8 * 4
    assert list(rows["executed_ops_log2"]) == pytest.approx([0, math.log2((8 * 2 + within) / 16)])
    assert list(rows["shuffles_per_op"]) == pytest.approx([0, transposed / (16 + within)])
    # Four additions that wait for no other take 2 cycles, as do four loads; once in 1024 steps,
    # sums are loaded and stored, too. Of shuffles there is one in a cycle.
    cycles = [math.log2((2 + 4 / 1024 + 3) / 2), math.log2((transposed + within + 3) / 8)]
    assert list(rows["core_cycles_log2"]) == pytest.approx(cycles)


def test_points_of_several_reductions_share_vectors(samples):
    # Windows of 8 by 4 points: the IR has vectors of 32 for each sum.
    dims = (Dim("m", 64, "m", True), Dim("k0", 8, "k", False), Dim("k1", 4, "k", False))
    windows = Operand("in0", "f32", (((0, 1),), ((1, 1),), ((2, 1),)))
    output = Operand("out", "f32", (((0, 1),),), output=True)
    problem = Problem("generic", "linalg.generic", dims, (windows, output))
    both, outer = {"vec_m": 4, "vec_k0": 8, "vec_k1": 4}, {"vec_m": 4, "vec_k0": 8, "vec_k1": 1}
    assert vectorized(samples, problem, both, outer) == ["k1", "k0"]
    rows = extract(problem, samples.TARGET, pd.DataFrame([both, outer]))
    assert list(rows["inner_vectors_rhs"]) == [1, -1]
    assert list(rows["vector_ops_log2"]) == [3, 2]
    # Two vectors for each of four sums and four halvings, or one and three: 128 and 32 points.
    assert list(rows["executed_ops_log2"]) == pytest.approx(
        [math.log2(4 * (2 + 4) / 8), math.log2(4 * (1 + 3) * 4 / 8)]
    )
    assert list(rows["shuffles_per_op"]) == pytest.approx([0, 0.4 * 4 * 8 / (4 * (1 + 3))])


def test_sums_within_vectors_are_kept_in_vectors(samples):
    dims = (Dim("m", 4096, "m", True), Dim("k", 1024, "k", False))
    rows = Operand("in0", "f32", (((0, 1),), ((1, 1),)))
    output = Operand("out", "f32", (((0, 1),),), output=True)
    problem = Problem("generic", "linalg.generic", dims, (rows, output))
    row = one(samples, problem, vec_m=64, vec_k=64)
    # 64 sums in four registers: nothing is spilled, and four halvings of each take 256 shuffles.
    # 256 loads take less.
    assert row["core_cycles_log2"] == pytest.approx(math.log2((64 * 4 + 3) / (256 / 2)))


def test_a_reduced_output_counts_as_its_sums(samples):
    # bf16 sums are f32 until they are stored, whatever loop is vectorized.
    dims = (Dim("n", 256, "n", True), Dim("k", 1024, "k", False))
    columns = Operand("in0", "bf16", (((1, 1),), ((0, 1),)))
    output = Operand("out", "bf16", (((0, 1),),), output=True)
    problem = Problem("generic", "linalg.generic", dims, (columns, output))
    tiles = pd.DataFrame([{"vec_n": 16, "vec_k": 1}, {"vec_n": 16, "vec_k": 4}])
    rows = extract(problem, samples.TARGET, tiles)
    assert list(rows["inner_vectors_out"]) == [0, 0]


def test_products_that_have_columns_first_are_vectorized_along_them(samples):
    # A 1x1 convolution with channels first: it has the rhs's loop first, and is contiguous along
    # the lhs's. Its IR has vectors of `vec_n` elements, or of `vec_m` where `vec_n` is 1.
    dims = (Dim("n", 104, "n", True), Dim("m", 784, "m", True), Dim("k", 48, "k", False))
    pixels = Operand("lhs", "f32", (((2, 1),), ((1, 1),)))
    weights = Operand("rhs", "f32", (((0, 1),), ((2, 1),)))
    output = Operand("out", "f32", (((0, 1),), ((1, 1),)), output=True)
    problem = Problem("contraction", "linalg.generic", dims, (pixels, weights, output))
    many, single = (
        {"vec_n": 8, "vec_m": 32, "vec_k": 4, "peel": 1},
        {"vec_n": 1, "vec_m": 64, "vec_k": 4, "peel": 1},
    )
    assert vectorized(samples, problem, many, single) == ["n", "m"]
    rows = extract(problem, samples.TARGET, pd.DataFrame([many, single, many], index=[3, 1, 2]))
    assert list(rows.index) == [3, 1, 2]
    assert list(rows["vec_n_log2"]) == [3, 6, 3]
    # Weights and sums change their order: 8 x 4, and 8 x 32 twice for each tile of the reduction.
    in_registers = (0.4 * 8 * 4 + 2 * 8 * 32) / (32 * 4)
    assert list(rows["shuffles_per_op"]) == pytest.approx([in_registers, 0, in_registers])
    alone = extract(problem, samples.TARGET, pd.DataFrame([many], index=[3]))
    pd.testing.assert_frame_equal(rows.loc[[3]], alone)
    # A batch that is contiguous changes nothing: with rows outside, columns they are in any case.
    batch = Dim("b", 8, "batch", True)
    inner = tuple(replace(o, index=(*o.index, ((3, 1),))) for o in problem.operands)
    problem = replace(problem, dims=(*dims, batch), operands=inner)
    assert vectorized(samples, problem, many, single) == ["n", "m"]
    rows_first = replace(problem, dims=(dims[1], dims[0], *problem.dims[2:]))
    assert vectorized(samples, rows_first, many, single) == ["n", "n"]


def test_the_last_columns_that_have_several_points_are_vectorized(samples):
    dims = (
        *(Dim("n0", 8, "n", True), Dim("n1", 16, "n", True)),
        *(Dim("m", 64, "m", True), Dim("k", 32, "k", False)),
    )
    pixels = Operand("lhs", "f32", (((3, 1),), ((2, 1),)))
    weights = Operand("rhs", "f32", (((0, 1),), ((1, 1),), ((3, 1),)))
    output = Operand("out", "f32", (((0, 1),), ((1, 1),), ((2, 1),)), output=True)
    problem = Problem("contraction", "linalg.generic", dims, (pixels, weights, output))
    tiles = [{"vec_n0": 4, "vec_n1": 8}, {"vec_n0": 4, "vec_n1": 1}, {"vec_n0": 1, "vec_n1": 1}]
    assert vectorized(samples, problem, *tiles) == ["n1", "n0", "m"]


def test_vectors_of_a_convolution_are_along_channels(samples):
    problem = samples.conv(28, 64, 128)
    image, weights = problem.inputs
    channels_first = Operand(
        "out", "f32", tuple(problem.output.index[i] for i in (0, 3, 1, 2)), output=True
    )
    problem = replace(problem, operands=(image, weights, channels_first))
    tile = {"vec_oc": 32, "vec_ow": 14, "vec_fh": 1, "vec_fw": 3}
    view = CpuView(problem, samples.TARGET, pd.DataFrame([tile]))
    assert problem.dims[view.vector_loop].name == "oc"
    assert view.slots["rhs"] == (weights,)
    # With one point of the window in a tile, a row of the image is what it is vectorized along.
    single = tile | {"vec_fw": 1}
    assert vectorized(samples, problem, tile, single) == ["oc", "ow"]
    assert vectorized(samples, problem, single | {"vec_oh": 7, "vec_ow": 1}) == ["oh"]
    strided = replace(problem, traits=(*problem.traits[:-1], ("stride", 2)))
    assert vectorized(samples, strided, single) == ["oc"]
    grouped = replace(problem, traits=(*problem.traits, ("grouped", 1)))
    assert vectorized(samples, grouped, tile | {"vec_fw": 1}) == ["oc"]
