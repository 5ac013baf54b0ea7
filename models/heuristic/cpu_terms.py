"""The terms of the CPU heuristic: what makes a candidate slow, and how much it counts.

A term maps features to a penalty: 0 is ideal, and 1 is about what halves the speed where the term
applies. To add one, add a row; to change the balance, change a weight. `HeuristicRanker.explain`
shows what each term adds for given candidates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.float64]


@dataclass(frozen=True)
class PenaltyTerm:
    """One reason for a candidate to be slow.

    Attributes:
        name: the column in `explain`, and the key in the ranker's `weights`.
        weight: how much it counts.
        reason: one line: why it costs time.
        features: what it looks at.
        penalty: a function of these features, in this order.
    """

    name: str
    weight: float
    reason: str
    features: tuple[str, ...]
    penalty: Callable[..., Column]


def excess(value: Column, limit: float) -> Column:
    """How far the value exceeds the limit."""
    return np.maximum(value - limit, 0)


def shortfall(value: Column, limit: float | Column) -> Column:
    """How far the value falls short of the limit."""
    return np.maximum(limit - value, 0)


CPU_TERMS = (
    # Registers ----------------------------------------------------------------------------------
    PenaltyTerm(
        "spills",
        2.0,
        "accumulators beyond the register file are stored and loaded in every step",
        ("register_pressure",),
        lambda pressure: np.minimum(excess(pressure, 1.0), 2.0),
    ),
    PenaltyTerm(
        "core_cycles",
        2.0,
        "padding, empty lanes, loads, shuffles, waiting for sums and short loops add to arithmetic",
        ("core_cycles_log2",),
        lambda factor: factor,
    ),
    # Vectors ------------------------------------------------------------------------------------
    PenaltyTerm(
        "remainders",
        2.0,
        "work outside full vector tiles runs masked or with dynamic shapes, and spoils the rest",
        ("partial_unpeeled",),
        lambda share: np.sqrt(share),
    ),
    PenaltyTerm(
        "dot_tile",
        1.0,
        "a matrix that is used once is best added up in tiles of one native vector by one",
        ("dot_mismatch",),
        lambda octaves: octaves,
    ),
    # Reduction ----------------------------------------------------------------------------------
    PenaltyTerm(
        "large_k",
        0.2,
        "unrolling more than eight reduction steps gains nothing and costs code",
        ("vec_k_log2",),
        lambda k: excess(k, 3.0),
    ),
    PenaltyTerm(
        "short_reduction",
        0.2,
        "each cache tile of the reduction loads and stores the accumulators again",
        ("accumulator_visits_log2", "k_steps_log2"),
        lambda visits, steps: np.minimum(visits, shortfall(steps, 4.0)),
    ),
    # Parallelism --------------------------------------------------------------------------------
    PenaltyTerm(
        "imbalance",
        1.0,
        "the run lasts as long as its busiest core: idle cores, ragged last wave",
        ("critical_path",),
        lambda path: path,
    ),
    PenaltyTerm(
        "small_workgroups",
        0.15,
        "a workgroup below some 64k operations costs more to hand out than to run",
        ("workgroup_flops_log2",),
        lambda flops: shortfall(flops, 16.0),
    ),
    # Memory -------------------------------------------------------------------------------------
    PenaltyTerm(
        "conflicts",
        0.1,
        "rows a large power of two apart evict each other before they are used again",
        ("conflicts_rhs", "run_cache_rhs"),
        lambda rows, run: excess(rows, 3.0) * shortfall(run, 12.0) / 4,
    ),
    PenaltyTerm(
        "cache_tile_misses",
        0.3,
        "what vectors walk over in a cache tile is used for every row: it should fit half of L2",
        ("cache_rhs_l2",),
        lambda fill: excess(fill, -1.0),
    ),
    # Code ---------------------------------------------------------------------------------------
    PenaltyTerm(
        "code_size",
        0.3,
        "more than 256 unrolled vector operations miss in the instruction cache",
        ("code_size_log2",),
        lambda size: excess(size, 8.0),
    ),
)
