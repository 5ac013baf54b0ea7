"""The terms of the GPU heuristic: what makes a candidate slow, or fail, and how much it counts.

As in `cpu_terms.py`, a penalty of 0 is ideal, and 1 is about what halves the speed where the term
applies. What the weights were held against:

* Exhaustive recordings of one convolution kernel on three GPUs (RTX A4000, RTX A6000, Radeon Pro
  W6600; 15x15 filter; some 4,000 candidates each). Figures in the comments are in this order. They
  also rejected a term, for square tiles: all 19 candidates within 5 % of a best are at least 8
  times as wide as high.
* 13 tuned matmuls for MI300X that people published with IREE (7 in f16, 6 in i8), each ranked by
  its tiles among the whole spaces of its problem: at 1.0 % in the geometric mean, at 30 % at worst,
  after the terms were adjusted to them (1.6 % and 38 % before). The comments say where the mean
  goes without a term. Of their N tiles 7 are no powers of two, which rejected a term for that.

* Ten dispatches on an H200, some 190 candidates each (`experiments/recordings/h200`), on which the
  terms about threads and latency were chosen: the best of the first 16 candidates is 4.9 % slower
  than the best of all in the mean, 17.8 % before. They rejected a term, for loads that are narrower
  than a thread's widest.

The rest is arithmetic on what units can do.
"""

from __future__ import annotations

import numpy as np

from .cpu_terms import Column, PenaltyTerm, excess, shortfall


def _unshared(thread_loads: Column, shared_share: Column) -> Column:
    """1 where threads multiply what they read from memory by themselves, else 0."""
    return np.asarray((thread_loads > 0) & (shared_share == 0), dtype=np.float64)


def _wasted(use: Column, run_log2: Column) -> Column:
    """The unused share of the lines of 128 bytes that runs touch, if not of what is fetched."""
    return 1 - np.minimum(use, 2.0 ** (run_log2 - 7))


GPU_TERMS = (
    # What fails, or is made of masks and remainders ---------------------------------------------
    PenaltyTerm(
        "uneven_vector_distribute",
        4.0,
        "VectorDistribute has no layout for copies that threads cannot share out, and fails",
        # gfx942 and sm_80: all 88 failures among 258 candidates of matmuls and a convolution, and
        # none of the 170 that compiled. Of the 139 with an odd tile, 51 compiled.
        ("uneven_vector_distribute",),
        lambda count: np.minimum(count, 1.0),
    ),
    PenaltyTerm(
        "attention_misfit",
        4.0,
        "attention fails where its scores are no whole instructions, or overflow shared memory",
        # gfx942: all 9 failures among 30 candidates, and none of those that compiled.
        ("qk_misfit", "shared_share"),
        lambda misfit, share: np.maximum(misfit, share > 1),
    ),
    PenaltyTerm(
        "odd_k",
        0.5,
        "a K tile that is no power of two leaves threads without a share of its copy",
        ("tile_k_pow2",),
        lambda pow2: 1 - pow2,
    ),
    PenaltyTerm(
        "padding",
        1.0,
        "outputs beyond those there are take as long as any",
        # The convolution, in equal threads: rank correlation 0.31, 0.27, 0.37 with time.
        ("padding",),
        lambda share: np.log2(1 + share),
    ),
    # Spread over the device ---------------------------------------------------------------------
    PenaltyTerm(
        "quantization",
        1.0,
        "the last wave of workgroups takes as long as a full one",
        # The tuned matmuls: 6.5 % without.
        ("wave_waste",),
        lambda waste: np.log2(1 + waste),
    ),
    PenaltyTerm(
        "uneven_simds",
        0.5,
        "subgroups that the SIMDs cannot share out evenly leave some of them waiting",
        # The convolution, from four subgroups on: rank correlation 0.11, 0.13, 0.24 with time. With
        # fewer, other workgroups fill the SIMDs: its best of one subgroup took 1.00 to 1.04 times
        # the best of all. The tuned matmuls: 1.3 % without.
        ("simd_waste", "subgroups_per_simd_log2"),
        lambda waste, subgroups: np.log2(1 + waste) * (subgroups > 0),
    ),
    PenaltyTerm(
        "latency",
        0.5,
        "a SIMD with less than two subgroups has nothing to do while one waits; where all read "
        "from memory, with less than eight",
        # The tuned matmuls: 4.9 % without. A convolution in f32 on an H200: with 98 workgroups of
        # eight subgroups the best takes 3.0 times the best of all, with 392 1.5 times.
        ("occupancy_log2", "thread_loads", "shared_share"),
        lambda occupancy, loads, share: np.minimum(
            shortfall(occupancy, 1.0 + 2.0 * _unshared(loads, share)), 3.0
        ),
    ),
    PenaltyTerm(
        "crowds",
        0.4,
        "more than two of a workgroup's subgroups per SIMD wait long at barriers",
        # The best convolution of 512 threads (16 subgroups) took 1.14, 1.18 and 1.20 times the best
        # of all, that of 1,024 took 1.47, 1.86, 1.53; of 32 to 256, at most 1.06. Four of the tuned
        # matmuls have two per SIMD, none has more: 1.1 % without.
        ("subgroups_per_simd_log2",),
        lambda subgroups: excess(subgroups, 1.0),
    ),
    # Matrix instructions ------------------------------------------------------------------------
    PenaltyTerm(
        "mma_area_to_volume",
        1.0,
        "an instruction that touches many elements per multiply-add is fed more slowly",
        # 3/16 for both f16 instructions of gfx942; they differ in i8 and on other GPUs.
        ("mma_area_to_volume",),
        lambda ratio: ratio,
    ),
    PenaltyTerm(
        "qk_area_to_volume",
        1.0,
        "attention's first product has an instruction of its own",
        ("qk_area_to_volume",),
        lambda ratio: ratio,
    ),
    PenaltyTerm(
        "fragment_loads",
        1.0,
        "more than half a fragment from shared memory per instruction waits for shared memory",
        # CDNA3: a fragment of 16x16 f16 takes 4 cycles at 128 bytes a cycle, and four SIMDs finish
        # a 16x16x16 instruction every 4 cycles. The tuned matmuls: 4.5 % without.
        ("fragment_loads",),
        lambda loads: np.minimum(excess(loads, 0.5), 1.5),
    ),
    PenaltyTerm(
        "spills",
        2.0,
        "sums and operands beyond some three quarters of the registers are spilled",
        ("register_share",),
        lambda share: np.minimum(excess(share, 0.75), 1.0),
    ),
    # Threads that multiply by themselves ---------------------------------------------------------
    PenaltyTerm(
        "thread_runs",
        1.5,
        "threads that own longer runs than two of their widest loads read far apart",
        ("thread_run_log2",),
        lambda run: excess(run, 1.0),
    ),
    PenaltyTerm(
        "unshared",
        0.8,
        "threads that read from memory what others read, too, wait for it",
        ("thread_loads", "shared_share"),
        _unshared,
    ),
    # Memory -------------------------------------------------------------------------------------
    PenaltyTerm(
        "traffic",
        0.4,
        "below some 64 operations per byte that a workgroup loads, caches limit",
        # MI300X: 1,307 Tflop/s of f16 over some 34 TB/s of L2 are 38 at best. The tuned
        # matmuls: 2.6 % without.
        ("workgroup_intensity_log2",),
        lambda intensity: shortfall(intensity, 6.0),
    ),
    PenaltyTerm(
        "uneven_copies",
        0.2,
        "copies that threads cannot share out evenly in full loads are masked",
        # The tuned matmuls: 1.3 % without.
        ("uneven_copies",),
        lambda count: count,
    ),
    PenaltyTerm(
        "wasted_lines",
        0.15,
        "runs shorter than a cache line fetch what nobody uses, or take more lines to look up",
        # Five of the tuned matmuls read half lines, so it counts little; 1.3 % without. NVIDIA
        # fetches sectors of 32 bytes, and still looks up lines of 128: of 17 dispatches on an H200,
        # the first near-optimal candidate is the 8th with these, the 10th if sectors count alone.
        ("line_use_lhs", "run_lhs_log2", "line_use_rhs", "run_rhs_log2"),
        lambda lhs, lhs_run, rhs, rhs_run: _wasted(lhs, lhs_run) + _wasted(rhs, rhs_run),
    ),
)
