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

from ...benchmarks.operations import Attention, Conv, Matmul, Matvec, Types, write_operations
from ...benchmarks.reducing import run_script
from ..compiler_fuzzing import fuzz

MINUTES = 8.0
HALF = Types("f16", "f32")
DISPATCHES = (
    Matmul(64, 128, 96, batch=4),
    Matvec(512, 512),
    Conv(14, 14, 32, 32, groups=2),
    Attention(4, 64, 64, 64),
    Matmul(64, 128, 96),
    Matmul(192, 256, 160, HALF),
    Conv.square(14, 32, 48, 3, types=HALF),
    Matmul(784, 512, 128, transposed=("rhs",), steps=("bias", "gelu")),
)
TARGETS = ("gfx942", "sm_80", "host")


def main(arguments: Sequence[str]) -> None:
    minutes = float(arguments[0]) if arguments else MINUTES
    with tempfile.TemporaryDirectory() as name:
        folder = Path(arguments[1]) if len(arguments) > 1 else Path(name) / "out"
        paths = write_operations(Path(name) / "dispatches", DISPATCHES)
        print("failure\tbefore\tafter\tleft\tsteps\tstill fails")
        for path in paths:
            found = fuzz(
                path,
                minutes=minutes / len(paths),
                targets=TARGETS,
                unpruned=True,
                out=folder / path.stem,
                quiet=True,
            )
            for one in found.failures:
                left = "not reduced" if one.left is None else f"{one.left:.4f}"
                manner, _ = run_script(one.folder)
                told = (one.folder.relative_to(folder), one.before, one.after, left)
                print(*told, len(one.steps), manner or "NO", sep="\t", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
