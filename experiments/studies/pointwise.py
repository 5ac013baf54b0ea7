"""What interchanging the loops of 1x1 convolutions gains, where channels come first.

    python -m frontrunner.experiments.studies.pointwise [CANDIDATES]

tunes those of torch models with as many candidates (24) of each pipeline that takes them:
`InterchangedProduct`, and the compiler's own. Prints speedups over the compiler's default, and what
became of the former's candidates. The order is the shipped one's, which has seen none of these
candidates.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...benchmarks.operations import Conv, Operation, Types
from .command_line import run_study
from .windows import CANDIDATES, TILED, write_table

INTERCHANGED = "InterchangedProduct"
ACTIVATION = ("bias", "relu6")
DISPATCHES: tuple[Operation, ...] = (
    # MobileNetV2's, early and late; ResNet-50's, RegNet's; then what such convolutions differ in.
    Conv.square(56, 24, 144, 1, layout="nchw", steps=ACTIVATION),
    Conv.square(56, 144, 24, 1, layout="nchw"),
    Conv.square(14, 576, 96, 1, layout="nchw"),
    Conv.square(7, 320, 1280, 1, layout="nchw", steps=ACTIVATION),
    Conv.square(56, 64, 256, 1, layout="nchw"),
    Conv.square(28, 48, 104, 1, layout="nchw", steps=("bias", "relu")),
    Conv(14, 14, 128, 256, window=(1, 1), images=4, layout="nchw"),
    Conv.square(28, 128, 256, 1, layout="nchw", types=Types("f16", "f32")),
    Conv.square(28, 128, 256, 1, layout="nchw", types=Types("i8", "i32")),
)


def main(arguments: Sequence[str]) -> None:
    write_table(DISPATCHES, (TILED, INTERCHANGED), int(arguments[0]) if arguments else CANDIDATES)


if __name__ == "__main__":
    run_study(main, __doc__)
