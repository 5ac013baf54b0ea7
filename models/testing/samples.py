"""Candidates to check rankers with, the same on every machine: made-up times of realistic problems.

Nothing is compiled, measured or read, and no solver is asked.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...features import extract
from ...search import Dim, Operand, Problem, Target
from ..training import TIME_COLUMN

Groups = NDArray[np.str_]

TARGET = Target("llvm-cpu", "znver4", "host", 8, 64, 32, (32 << 10, 1 << 20, 32 << 20))


def measured_candidates() -> tuple[pd.DataFrame, Groups]:
    """Features and times of 150 candidates of each of four problems, with the problems' names.

    What `Ranker.fit` takes. None of the problems is a convolution.
    """
    frame, groups = _measured(LEARNED, 150, seed=0)
    return frame.copy(), groups.copy()


def unseen_candidates() -> pd.DataFrame:
    """Features and times of 120 candidates of a kind of problem that was not learned from."""
    return _measured(("conv",), 120, seed=50)[0].copy()


def matmul(m: int, n: int, k: int, dtype: str = "f32", transposed: bool = False) -> Problem:
    """The output has the inputs' type."""
    rhs = (((1, 1),), ((2, 1),)) if transposed else (((2, 1),), ((1, 1),))
    return Problem(
        "contraction",
        "linalg.matmul",
        (Dim("m", m, "m", True), Dim("n", n, "n", True), Dim("k", k, "k", False)),
        (
            Operand("lhs", dtype, (((0, 1),), ((2, 1),))),
            Operand("rhs", dtype, rhs),
            Operand("out", dtype, (((0, 1),), ((1, 1),)), output=True),
        ),
    )


def batch_matmul(batch: int, m: int, n: int, k: int) -> Problem:
    """With an elementwise step behind it."""
    return Problem(
        "contraction",
        "linalg.batch_matmul",
        (
            Dim("batch", batch, "batch", True),
            Dim("m", m, "m", True),
            Dim("n", n, "n", True),
            Dim("k", k, "k", False),
        ),
        (
            Operand("lhs", "f32", (((0, 1),), ((1, 1),), ((3, 1),))),
            Operand("rhs", "f32", (((0, 1),), ((3, 1),), ((2, 1),))),
            Operand("out", "f32", (((0, 1),), ((1, 1),), ((2, 1),)), output=True),
        ),
        fused=("linalg.generic",),
    )


def conv(size: int, channels: int, outputs: int, stride: int = 1) -> Problem:
    """With a window of 3 times 3."""
    return Problem(
        "convolution",
        "linalg.conv_2d_nhwc_hwcf",
        (
            Dim("batch", 1, "m", True),
            Dim("oh", size, "m", True),
            Dim("ow", size, "m", True),
            Dim("oc", outputs, "n", True),
            Dim("fh", 3, "k", False),
            Dim("fw", 3, "k", False),
            Dim("ic", channels, "k", False),
        ),
        (
            Operand(
                "lhs", "f32", (((0, 1),), ((1, stride), (4, 1)), ((2, stride), (5, 1)), ((6, 1),))
            ),
            Operand("rhs", "f32", (((4, 1),), ((5, 1),), ((6, 1),), ((3, 1),))),
            Operand("out", "f32", (((0, 1),), ((1, 1),), ((2, 1),), ((3, 1),)), output=True),
        ),
        traits=(("depthwise", 0), ("dilation", 1), ("grouped", 0), ("stride", stride)),
    )


LEARNED = ("skinny", "odd", "transposed", "batch")

PROBLEMS = {
    "skinny": matmul(32, 2048, 2048),
    "odd": matmul(197, 768, 768),
    "transposed": matmul(128, 1024, 1024, "f16", transposed=True),
    "batch": batch_matmul(12, 128, 128, 64),
    "conv": conv(56, 64, 128),
}


def candidates(problem: Problem, count: int, seed: int = 0) -> pd.DataFrame:
    """Random nested tiles, powers of two more often than not."""
    rng = np.random.default_rng(seed)
    columns: dict[str, NDArray[np.int64]] = {}
    for dim in problem.dims:
        enclosing = np.full(count, dim.size)
        levels = ["cache", "vec"] if problem.kind == "contraction" else ["vec"]
        for level in ["dist", *levels] if dim.parallel else levels:
            tile = enclosing
            for _ in range(2 if level == "vec" else 1):
                tile = rng.integers(1, tile + 1)
            pow2 = 1 << np.log2(tile).astype(np.int64)
            enclosing = np.where(rng.random(count) < 0.7, pow2, tile)
            columns[f"{level}_{dim.name}"] = enclosing
    if problem.kind == "contraction":
        columns["peel"] = rng.integers(0, 2, count)
    return pd.DataFrame(columns)


@cache
def _measured(names: tuple[str, ...], count: int, seed: int) -> tuple[pd.DataFrame, Groups]:
    frames = []
    for i, name in enumerate(names):
        problem = PROBLEMS[name]
        found = extract(problem, TARGET, candidates(problem, count, seed + i))
        frames.append(found.assign(**{TIME_COLUMN: _times(found, seed + i)}))
    return pd.concat(frames, ignore_index=True), np.repeat(list(names), count)


def _times(frame: pd.DataFrame, seed: int) -> NDArray[np.float64]:
    """A made-up machine: reuse, lanes, remainders and balance matter, with noise and failures."""
    f = frame.astype("float64")
    rng = np.random.default_rng(seed)
    cost = 0.6 * np.log1p(f["loads_per_fma"]) + 1.5 * np.clip(f["register_pressure"] - 1, 0, 2)
    cost += 1.2 * (1 - f["lane_fill_out"]) + np.sqrt(f["partial_unpeeled"])
    cost += 0.7 * f["critical_path"] + 0.2 * np.maximum(12 - f["run_cache_rhs"], 0)
    times = np.exp(cost + rng.normal(0, 0.05, len(f)) + f["flops_log2"] / 4)
    failed = f["vec_volume_log2"] > 12
    return np.where(failed, np.nan, times)
