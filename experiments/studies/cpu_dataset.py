"""The dataset: its problems, and the table in the card of its recordings.

    python -m frontrunner.experiments.studies.cpu_dataset problems DIR
    python -m frontrunner.experiments.studies.cpu_dataset vulkan DIR
    python -m frontrunner.experiments.studies.cpu_dataset table RECORDINGS

writes one MLIR file per problem for `frontrunner record`: those for CPUs, and smaller ones for a
Vulkan driver that computes on a CPU; prints what came of them. Sizes of the former are those
of public models, or awkward on purpose; each takes the compiler's default some milliseconds on two
cores.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from ...benchmarks.measuring import IQR_PER_DEVIATION, MEDIAN_ERROR_RATIO, NEAR_OPTIMAL
from ...benchmarks.operations import Attention, Conv, Matmul, Matvec, Types, write_operations
from ...core import InputError
from ..dataset import Recording
from ..learning import drop_killed
from .command_line import NOTHING_TO_DO, run_study
from .generic_ops import write_generic_ops

PROBLEMS = (
    # Products: square, few rows, odd, transposed, narrow types.
    Matmul(256, 256, 256),
    Matmul(16, 1024, 1024),
    Matmul(32, 768, 3072),
    Matmul(127, 257, 129),
    Matmul(128, 768, 768, transposed=("rhs",)),
    Matmul(256, 256, 512, transposed=("lhs",)),
    Matmul(128, 512, 512, Types("bf16", "f32")),
    Matmul(256, 512, 256, Types("i8", "i32")),
    # And of models that nothing else here knows: Stable Diffusion's, a skinny one.
    Matmul(211, 640, 640),
    Matmul(48, 1536, 1536),
    Matmul(64, 1024, 1024, Types("f16", "f32")),
    # One row, one column.
    Matvec(2048, 2048),
    Matvec(4096, 1024),
    Matmul(1, 3072, 768),
    Matmul(1, 2048, 2048, transposed=("rhs",)),
    Matmul(1, 2560, 5120),
    # Many at once.
    Matmul(128, 128, 64, batch=12),
    Matmul(32, 64, 32, batch=48),
    # Convolutions.
    Conv.square(56, 64, 64, 3),
    Conv.square(28, 128, 128, 3),
    Conv.square(14, 256, 256, 3),
    Conv.square(28, 128, 256, 1),
    Conv.square(28, 64, 128, 3, stride=2),
    Conv.square(28, 64, 64, 3, layout="nchw"),
    Conv.square(14, 128, 256, 3, stride=2, layout="nchw"),
    Conv.square(28, 128, 256, 1, layout="nchw"),
    Conv.square(28, 96, 0, 3, layout="nchw"),
    Conv.square(56, 96, 0, 3),
    Conv.square(28, 192, 0, 3, stride=2),
    # Attention.
    Attention(8, 64, 64, 64),
    Attention(4, 256, 256, 32),
    Attention(12, 197, 197, 64),
    # With the elementwise work that models fuse: BERT's query projection and its output, GPT-2's
    # next token, ResNet-18, MobileNetV2; and of models that nothing else here knows: ConvNeXt's two
    # layers, Whisper's projection, RegNet's first convolution.
    Matmul(128, 384, 384, steps=("bias",)),
    Matmul(128, 384, 1536, steps=("bias", "residual")),
    Matmul(1, 2304, 768, steps=("bias",)),
    Conv.square(28, 128, 128, 3, steps=("bias", "relu")),
    Conv.square(14, 256, 256, 3, steps=("bias", "residual", "relu")),
    Conv.square(28, 144, 0, 3, steps=("bias", "relu6")),
    Matmul(784, 512, 128, transposed=("rhs",), steps=("bias", "gelu")),
    Matmul(784, 128, 512, transposed=("rhs",), steps=("bias", "residual")),
    Matmul(500, 384, 384, transposed=("rhs",), steps=("bias",)),
    Conv.square(28, 48, 104, 1, layout="nchw", steps=("bias", "relu")),
    # Of kinds of which there was one: what is left out is not learned from a like one.
    Matmul(64, 1024, 512, Types("i8", "i32")),
    Matmul(32, 1024, 768, Types("bf16", "f32")),
    Conv.square(28, 64, 128, 3, stride=2, layout="nchw"),
)

VULKAN_PROBLEMS = (
    Matmul(256, 256, 256),
    Matmul(127, 257, 129),
    Matmul(32, 768, 768),
    Matmul(128, 384, 384, steps=("bias",)),
    Matmul(196, 512, 128, transposed=("rhs",), steps=("bias", "gelu")),
    Matmul(64, 256, 512, Types("f16", "f32")),
    Matmul(128, 256, 128, Types("i8", "i32")),
    Matmul(128, 128, 64, batch=12),
    Conv.square(14, 64, 64, 3),
    Conv.square(14, 64, 128, 3, stride=2, steps=("bias", "relu")),
    Conv.square(14, 64, 64, 3, layout="nchw"),
    Conv.square(28, 48, 104, 1, layout="nchw", steps=("bias", "relu")),
    Conv.square(28, 96, 0, 3),
)

COLUMNS = (
    "recording", "candidates", "failed", "within 5 %", "default", "best", "speedup", "error",
)  # fmt: skip


def table(folder: Path) -> str:
    """A row per recording, in Markdown; what was killed from outside counts as not there.

    Raises:
        InputError: one cannot be read.
    """
    rows = [COLUMNS, ["---"] * len(COLUMNS)]
    for path in sorted(folder.glob("*.parquet")):
        frame = drop_killed(Recording.read(path)).frame
        relative, default_us = frame["relative"], float(frame["baseline_us"].median())
        best = float(relative.min())
        figures = [
            f"{len(frame)}",
            f"{relative.isna().sum()}",
            f"{(relative <= (1 + NEAR_OPTIMAL) * best).sum()}",
            f"{default_us:.0f} us",
            f"{default_us * best:.0f} us",
            f"{1 / best:.2f}x",
            _error(frame.iloc[int(relative.argmin())]),
        ]
        rows.append([f"`{path.stem}`", *figures])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _error(row: pd.Series) -> str:
    """The standard error of a time, as a share of it: that of a median of its measurements.

    A candidate that compiles to what the default does has none.
    """
    if pd.isna(row["spread"]):
        return "-"
    deviation = row["spread"] / IQR_PER_DEVIATION
    return f"{MEDIAN_ERROR_RATIO * deviation / row['measurements'] ** 0.5:.1%}"


def main(arguments: Sequence[str]) -> None:
    match arguments:
        case ["table", folder]:
            print(table(Path(folder)), end="")
        case ["problems", folder]:
            write_operations(Path(folder), PROBLEMS)
            write_generic_ops(Path(folder))
        case ["vulkan", folder]:
            write_operations(Path(folder), VULKAN_PROBLEMS)
        case _:
            raise InputError(NOTHING_TO_DO, "name problems, vulkan or table, and a folder")


if __name__ == "__main__":
    run_study(main, __doc__)
