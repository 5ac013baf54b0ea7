"""The terms of the Vulkan heuristic: what makes a candidate slow, and how much it counts.

As in `cpu_terms.py`, a penalty of 0 is ideal, and 1 is about what halves the speed where the term
applies. They are arithmetic on what units can do; what was seen on lavapipe stands beside them.
"""

from __future__ import annotations

import numpy as np

from .cpu_terms import PenaltyTerm, excess, shortfall

VULKAN_TERMS = (
    # Code ---------------------------------------------------------------------------------------
    PenaltyTerm(
        "scalar",
        2.0,
        "one value at a time uses a fraction of what loads and multiply-adds can do",
        ("vectorized",),
        lambda vectors: 1 - vectors,
    ),
    PenaltyTerm(
        "thread_reuse",
        1.0,
        "below some two operations per byte a thread waits for its loads",
        ("thread_intensity_log2",),
        lambda intensity: np.minimum(shortfall(intensity, 1.0), 3.0),
    ),
    PenaltyTerm(
        "spills",
        1.5,
        "sums and operands beyond the registers are spilled",
        ("register_share",),
        lambda share: np.minimum(excess(share, 1.0), 2.0),
    ),
    PenaltyTerm(
        "code_size",
        0.5,
        "long unrolled code is compiled worse, and misses in the instruction cache",
        # 256x256x256 on lavapipe: 256 and fewer multiply-adds 50 to 75 ms, of 16 deep 110 ms.
        ("unrolled_log2",),
        lambda size: excess(size, 8.0),
    ),
    PenaltyTerm(
        "padding",
        1.0,
        "outputs beyond those there are take as long as any",
        ("padding",),
        lambda share: np.log2(1 + share),
    ),
    # Spread over the device ---------------------------------------------------------------------
    PenaltyTerm(
        "idle_lanes",
        1.0,
        "lanes without a thread do nothing",
        ("idle_lanes",),
        lambda share: share,
    ),
    PenaltyTerm(
        "quantization",
        0.5,
        "the last wave of workgroups takes as long as a full one",
        ("wave_waste",),
        lambda waste: np.minimum(np.log2(1 + waste), 3.0),
    ),
    PenaltyTerm(
        "crowds",
        0.2,
        "workgroups of more than 128 threads wait long at barriers",
        ("threads_log2",),
        lambda threads: excess(threads, 7.0),
    ),
    # Memory -------------------------------------------------------------------------------------
    PenaltyTerm(
        "narrow_loads",
        0.5,
        "loads and stores that fill no vector need more instructions for it",
        ("vector_rhs", "vector_out"),
        lambda rhs, out: 2 - rhs - out,
    ),
    PenaltyTerm(
        "scattered",
        0.3,
        "threads of a subgroup that are not neighbours in memory take a transaction each",
        ("coalesced",),
        lambda share: 1 - share,
    ),
    PenaltyTerm(
        "traffic",
        0.3,
        "below some eight operations per byte that a workgroup loads, caches limit",
        ("workgroup_intensity_log2",),
        lambda intensity: np.minimum(shortfall(intensity, 3.0), 3.0),
    ),
    PenaltyTerm(
        "uneven_copies",
        0.3,
        "copies to shared memory that threads cannot share out in full loads are masked",
        ("uneven_copies",),
        lambda count: count,
    ),
    PenaltyTerm(
        "crowded_shared",
        0.3,
        "shared memory that one workgroup takes whole leaves no room for another",
        ("shared_share",),
        lambda share: excess(share, 0.5) * 2,
    ),
)
