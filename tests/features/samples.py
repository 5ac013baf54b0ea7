"""Realistic problems and random candidates for them, without the solver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pandas as pd

from frontrunner.models.testing.samples import TARGET, batch_matmul, candidates, conv, matmul
from frontrunner.search.problem import Dim, Gpu, Intrinsic, Operand, Problem, Target


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


def pointwise(pixels: int, channels: int, outputs: int) -> Problem:
    """A 1x1 convolution with channels first, as the compiler has it: a product, columns first."""
    return Problem(
        "contraction",
        "linalg.generic",
        (
            Dim("n", outputs, "n", True),
            Dim("m", pixels, "m", True),
            Dim("k", channels, "k", False),
        ),
        (
            Operand("lhs", "f32", (((2, 1),), ((1, 1),))),
            Operand("rhs", "f32", (((0, 1),), ((2, 1),))),
            Operand("out", "f32", (((0, 1),), ((1, 1),)), output=True),
        ),
    )


def channels_first(problem: Problem) -> Problem:
    """A convolution, or a depthwise one, as torch has it."""
    image, weights, output = problem.operands
    places = (0, 3, 1, 2)
    image, output = (replace(o, index=tuple(o.index[i] for i in places)) for o in (image, output))
    channels = range(2, len(weights.index))[::-1]
    weights = replace(weights, index=tuple(weights.index[i] for i in (*channels, 0, 1)))
    return replace(problem, operands=(image, weights, output))


def reduction(*sizes: int, kept: int, columns: bool = False) -> Problem:
    """Sums of rows, or of columns, of 16-bit elements."""
    order = (*range(1, len(sizes) + 1), 0) if columns else tuple(range(len(sizes) + 1))
    sums = tuple(Dim(f"k{i}", size, "k", False) for i, size in enumerate(sizes))
    return Problem(
        "generic",
        "linalg.generic",
        (Dim("d0", kept, "n" if columns else "m", True), *sums),
        (
            Operand("in0", "bf16", tuple(((i, 1),) for i in order)),
            Operand("out", "bf16", (((0, 1),),), output=True),
        ),
    )


SKINNY = matmul(32, 2048, 2048)

PROBLEMS = {
    "skinny": SKINNY,
    "odd": matmul(197, 768, 768),
    "transposed": matmul(128, 1024, 1024, "f16", transposed=True),
    "matvec": matmul(1, 4096, 4096),
    "dot": matmul(1, 2048, 2048, transposed=True),
    "batch": batch_matmul(12, 128, 128, 64),
    "conv": conv(56, 64, 128),
    "strided": conv(28, 128, 128, stride=2),
    "depthwise": depthwise(56, 144),
    "attention": attention(20, 1024, 1024, 64),
    "pointwise": pointwise(784, 128, 256),
    "channels_first": channels_first(conv(28, 64, 64)),
    "rows": reduction(1500, kept=500),
    "columns": reduction(1024, kept=256, columns=True),
    "planes": reduction(56, 28, kept=96),
    "total": reduction(4096, kept=1),
}


# GPUs -------------------------------------------------------------------------------------------

_F16, _I8 = ("f16", "f16", "f32"), ("i8", "i8", "i32")
GFX942 = Target(
    "rocm", "gfx942", "gfx942", 304, 16, 512, (64 << 10, 32 << 20, 0),
    Gpu((64,), 1024, 64 << 10, 4, 16384, 128, 32, (
        Intrinsic("MFMA_F32_16x16x16_F16", 16, 16, 16, _F16),
        Intrinsic("MFMA_F32_32x32x8_F16", 32, 32, 8, _F16),
        Intrinsic("MFMA_I32_16x16x32_I8", 16, 16, 32, _I8),
        Intrinsic("MFMA_I32_32x32x16_I8", 32, 32, 16, _I8),
    )),
)  # fmt: skip
SM_80 = Target(
    "cuda", "sm_80", "sm_80", 108, 16, 255, (163 << 10, 40 << 20, 0),
    Gpu((32,), 1024, 163 << 10, 4, 255 * 32, 128, 32, (
        Intrinsic("NV_MMA_SYNC_F32_16x8x16_F16", 16, 8, 16, _F16),
    )),
)  # fmt: skip
RDNA3 = Target(
    "rocm", "gfx1100", "gfx1100", 48, 16, 256, (64 << 10, 6 << 20, 0),
    Gpu((32, 64), 1024, 64 << 10, 4, 8192, 128, 32, (
        Intrinsic("WMMAR3_F32_16x16x16_F16", 16, 16, 16, _F16),
    )),
)  # fmt: skip

GPU_PROBLEMS = {
    "large": (matmul(2048, 1280, 5120, "f16", transposed=True), GFX942),
    "odd": (matmul(1000, 1280, 5000, "f16"), GFX942),
    "bytes": (matmul(2048, 1280, 5120, "i8"), GFX942),
    "conv": (conv(64, 640, 640), GFX942),
    "depthwise": (depthwise(56, 144), SM_80),
    "strided": (conv(28, 128, 128, stride=2), SM_80),
    "batch": (batch_matmul(12, 128, 128, 64), RDNA3),
    "attention": (attention(20, 4096, 1024, 64), GFX942),
}


def gpu_candidates(problem: Problem, target: Target, count: int, seed: int = 0) -> pd.DataFrame:
    """Random derived columns, as far as the compiler's constraints would let them pass."""
    rng = np.random.default_rng(seed)
    rows = 60 * count + 100
    inputs = problem.inputs[0]
    known = [i for i in target.gpu.intrinsics if i.types[0] == inputs.dtype]
    known = np.array([(i.m, i.n, i.k) for i in known or target.gpu.intrinsics])
    mma, qk = (known[rng.integers(0, len(known), rows)].T for _ in range(2))
    alone = rng.integers(0, 4, rows) == 0  # threads that multiply by themselves
    mma, qk = np.where(alone, 1, mma), np.where(alone, 1, qk)
    subgroups, fragments = rng.integers(1, 5, (2, rows)), rng.integers(1, 9, (3, rows))
    subgroups_k = rng.integers(1, 3, rows)
    tile_k = fragments[2] * mma[2] * subgroups_k
    tiles = subgroups * fragments[:2] * mma[:2]
    size = {r: np.prod([d.size for d in problem.by_role(r)], dtype=int) for r in ("m", "n", "k")}
    subgroup_size = rng.choice(target.gpu.subgroup_sizes, rows)
    threads = subgroups.prod(axis=0) * subgroups_k * subgroup_size
    batches = np.prod([d.size for d in problem.by_role("batch")], dtype=int)
    shared = tile_k * tiles.sum(axis=0) * inputs.bytes_per_element
    shared = np.where(alone & (rng.integers(0, 2, rows) == 0), 0, shared)
    frame = pd.DataFrame(
        {
            "tile_batch": 1, "tile_m": tiles[0], "tile_n": tiles[1], "tile_k": tile_k,
            "subgroups_m": subgroups[0], "subgroups_n": subgroups[1], "subgroups_k": subgroups_k,
            "mma_m": mma[0], "mma_n": mma[1], "mma_k": mma[2],
            "qk_m": qk[0], "qk_n": qk[1], "qk_k": qk[2],
            "thread_m": 2 ** rng.integers(0, 5, rows), "thread_n": 2 ** rng.integers(0, 5, rows),
            "thread_k": 2 ** rng.integers(0, 3, rows), "lanes_k": 2 ** rng.integers(0, 5, rows),
            "subgroup_size": subgroup_size, "threads": threads,
            "workgroups": batches * -(-size["m"] // tiles[0]) * -(-size["n"] // tiles[1]),
            "shared_bytes": shared,
            "vector_distribute": rng.integers(0, 2, rows),
            "igemm": rng.integers(0, 2, rows) * (problem.kind == "convolution"),
            "stages": rng.integers(1, 4, rows), "bank_padding": rng.integers(0, 2, rows),
            "waves_per_eu": rng.integers(0, 3, rows), "flush_denormals": rng.integers(0, 2, rows),
        }
    )  # fmt: skip
    if problem.kind != "attention":
        frame[["qk_m", "qk_n", "qk_k"]] = frame[["mma_m", "mma_n", "mma_k"]]
    fits = (shared <= target.gpu.shared_bytes) & (threads <= target.gpu.max_threads)
    fits &= (tiles <= 512).all(axis=0) & (tile_k <= 512) & (subgroups.prod(axis=0) <= 10)
    return frame[fits].head(count).reset_index(drop=True)


VALHALL4 = Target(
    "vulkan-spirv", "valhall4", "valhall4", 16, 16, 128, (32 << 10, 2 << 20, 0),
    Gpu((16,), 512, 32 << 10, 4, 4096, 128, 32, (), ("f16", "f32", "i8", "i32")),
)  # fmt: skip

VULKAN_PROBLEMS = {
    "large": matmul(2048, 1280, 5120),
    "half": matmul(1000, 1280, 5000, "f16", transposed=True),
    "bytes": matmul(512, 768, 1024, "i8"),
    "batch": batch_matmul(12, 128, 128, 64),
    "conv": conv(56, 64, 128),
    "strided": conv(28, 128, 128, stride=2),
    "depthwise": depthwise(56, 144),
}


def vulkan_candidates(problem: Problem, count: int, seed: int = 0) -> pd.DataFrame:
    """Random tiles of workgroups and threads, by the last three parallel loops."""
    rng = np.random.default_rng(seed)
    columns: dict[str, np.ndarray] = {}
    spread = [d for d in problem.dims if d.parallel][-3:]
    threads, rows = np.ones((2, count), dtype=int)
    for d in problem.dims:
        if not d.parallel:
            columns[f"red_{d.name}"] = rng.choice([0, 1, 4, 16], count)
            continue
        many = 5 if d in spread and d.role != "batch" else 1
        thread, along = 2 ** rng.integers(0, many, (2, count))
        columns[f"thread_{d.name}"], columns[f"wg_{d.name}"] = thread, thread * along
        threads, rows = threads * along, rows + thread * along
    promoted = rng.integers(0, 2, count) * (problem.kind == "contraction")
    depth = promoted * rng.integers(1, 4, count)
    return pd.DataFrame(
        columns
        | {"threads": threads, "vectorized": np.maximum(promoted, rng.integers(0, 2, count))}
        | {
            "promoted": promoted,
            "depth": depth,
            "stage": promoted * rng.integers(0, 2, count),
        }
        | {"shared_bytes": promoted * depth * rows * 64}
    )


Case: TypeAlias = tuple[Problem, Target, pd.DataFrame]


def cases(kind: str, count: int) -> Iterator[Case]:
    """Candidates of every sample problem for a kind of target: `cpu`, `gpu` or `vulkan`."""
    if kind == "cpu":
        for problem in PROBLEMS.values():
            yield problem, TARGET, candidates(problem, count)
    elif kind == "vulkan":
        for problem in VULKAN_PROBLEMS.values():
            yield problem, VALHALL4, vulkan_candidates(problem, count)
        # No space has it yet; the context of all catalogues tells it apart.
        other = attention(20, 4096, 1024, 64)
        yield other, replace(VALHALL4, cores=64), vulkan_candidates(other, count)
    else:
        for problem, target in GPU_PROBLEMS.values():
            yield problem, target, gpu_candidates(problem, target, count)
