"""How small known failures become: real ones, found by fuzzing without pruning, each reduced.

    python -m frontrunner.experiments.studies.reducing [MINUTES] [FOLDER]

Prints for each way to fail the size of its reproducer before and after, what is left of the work
(ops times elements), the steps, and whether its script still fails, run once more by itself.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ...benchmarks.operations import Attention, Conv, Matmul, Matvec, write_operations
from ...benchmarks.reducing import run_script
from ..compiler_fuzzing import fuzz

MINUTES = 8.0
DISPATCHES = (
    Matmul(512, 512, 512, batch=8),
    Matvec(2048, 2048),
    Matmul(784, 512, 128, transposed=("rhs",), steps=("bias", "gelu")),
    Matmul(512, 1024, 768),
    Conv.square(28, 128, 128, 3),
    Conv.square(28, 64, 64, 3, layout="nchw"),
    Attention(8, 256, 256, 64),
)
TARGETS = ("host", "gfx942", "sm_80", "gfx1100")


def main(arguments: Sequence[str]) -> None:
    minutes = float(arguments[0]) if arguments else MINUTES
    with tempfile.TemporaryDirectory() as name:
        folder = Path(arguments[1]) if len(arguments) > 1 else Path(name) / "out"
        dispatches = Path(name) / "dispatches"
        paths = write_operations(dispatches, DISPATCHES)
        found = fuzz(paths, minutes=minutes, targets=TARGETS, unpruned=True, out=folder)
        print("failure\tbefore\tafter\tleft\tsteps\tstill fails")
        for one in found.failures:
            left = "not reduced" if one.left is None else f"{one.left:.4f}"
            manner, _ = run_script(one.folder)
            print(one.folder.name, one.before, one.after, left, len(one.steps), sep="\t", end="\t")
            print(manner or "NO", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
