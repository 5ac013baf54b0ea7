"""What a machine is calibrated on: small dispatches of all kinds, the most telling ones first."""

from __future__ import annotations

from ...benchmarks.operations import Attention, Conv, Matmul, Matvec, Operation, Types

# A default of 0.1 to 3 ms on two cores, so that compiling takes most of the time. None of them is
# among the recordings or the examples: what is learned here says nothing of those beforehand.
PROBLEMS: tuple[Operation, ...] = (
    Matmul(96, 640, 320),
    Conv.square(20, 48, 64, 3),
    Matvec(1536, 1024),
    Attention(4, 96, 96, 32),
    Conv.square(20, 48, 80, 3, layout="nchw"),
    Matmul(320, 256, 192, transposed=("rhs",), steps=("bias", "relu")),
    Matmul(1, 1536, 768),
    Conv.square(24, 80, 0, 3),
    Matmul(24, 1024, 512),
    Matmul(96, 64, 48, batch=8),
    Matmul(150, 333, 190),
    Matmul(160, 384, 256, Types("i8", "i32")),
    Conv.square(20, 64, 96, 1, layout="nchw", steps=("bias", "relu")),
    Matmul(96, 384, 384, Types("bf16", "f32")),
    Conv.square(14, 96, 128, 3, stride=2),
    Conv.square(28, 64, 0, 3, layout="nchw"),
)
