"""Realistic problems and random candidates for them, without the solver."""

from __future__ import annotations

import numpy as np
import pandas as pd

from frontrunner.search.problem import Dim, Operand, Problem, Target

TARGET = Target("llvm-cpu", "znver4", (), 8, 64, 32, (32 << 10, 1 << 20, 32 << 20))


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


def depthwise(size: int, channels: int) -> Problem:
    return Problem(
        "convolution",
        "linalg.depthwise_conv_2d_nhwc_hwc",
        (
            Dim("batch", 1, "m", True),
            Dim("oh", size, "m", True),
            Dim("ow", size, "m", True),
            Dim("c", channels, "n", True),
            Dim("fh", 3, "k", False),
            Dim("fw", 3, "k", False),
        ),
        (
            Operand("lhs", "f32", (((0, 1),), ((1, 1), (4, 1)), ((2, 1), (5, 1)), ((3, 1),))),
            Operand("rhs", "f32", (((4, 1),), ((5, 1),), ((3, 1),))),
            Operand("out", "f32", (((0, 1),), ((1, 1),), ((2, 1),), ((3, 1),)), output=True),
        ),
        traits=(("depthwise", 1), ("dilation", 1), ("grouped", 0), ("stride", 1)),
    )


def attention(batch: int, rows: int, keys: int, head: int) -> Problem:
    return Problem(
        "attention",
        "iree_linalg_ext.online_attention",
        (
            Dim("batch", batch, "batch", True),
            Dim("m", rows, "m", True),
            Dim("k1", head, "k", False),
            Dim("k2", keys, "k", False),
            Dim("n", head, "n", True),
        ),
        (
            Operand("query", "f16", (((0, 1),), ((1, 1),), ((2, 1),))),
            Operand("key", "f16", (((0, 1),), ((3, 1),), ((2, 1),))),
            Operand("value", "f16", (((0, 1),), ((3, 1),), ((4, 1),))),
            Operand("out", "f32", (((0, 1),), ((1, 1),), ((4, 1),)), output=True),
        ),
        traits=(("masked", 0),),
    )


SKINNY = matmul(32, 2048, 2048)

PROBLEMS = {
    "skinny": SKINNY,
    "odd": matmul(197, 768, 768),
    "transposed": matmul(128, 1024, 1024, "f16", transposed=True),
    "matvec": matmul(1, 4096, 4096),
    "batch": batch_matmul(12, 128, 128, 64),
    "conv": conv(56, 64, 128),
    "strided": conv(28, 128, 128, stride=2),
    "depthwise": depthwise(56, 144),
    "attention": attention(20, 1024, 1024, 64),
}


def candidates(problem: Problem, count: int, seed: int = 0) -> pd.DataFrame:
    """Random nested tiles, powers of two more often than not."""
    rng = np.random.default_rng(seed)
    columns: dict[str, np.ndarray] = {}
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
