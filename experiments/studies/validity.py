"""How much of a space compiles: a random sample per kind, through the real compiler.

    python -m frontrunner.experiments.studies.validity [SAMPLE] [IN.mlir ...]

Prints the share that compiles and the share that also computes what the default computes.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ...benchmarks.measuring import OK
from ...benchmarks.operations import Attention, Conv, Matmul, Matvec, Types, write_operations
from ...benchmarks.runners import open_local_runner
from ...search import build_spaces
from ...search.enumeration import candidate_dicts, count, sample
from ...search.reading import read_dispatch

DISPATCHES = (
    Matmul(197, 768, 768),
    Matmul(256, 512, 256, Types("i8", "i32")),
    Matmul(256, 512, 256, Types("bf16", "f32"), transposed=("rhs",)),
    Matvec(4096, 4096),
    Matmul(128, 128, 64, batch=12),
    Conv.square(56, 64, 128, 3),
    Conv.square(28, 64, 128, 3, stride=2, layout="nchw"),
    Conv.square(56, 128, 0, 3),
    Attention(12, 128, 128, 64),
    # A ConvNeXt block's first product.
    Matmul(784, 512, 128, transposed=("rhs",), steps=("bias", "gelu")),
    Matmul(128, 384, 1536, steps=("bias", "residual")),
    Matmul(127, 257, 129),
)


def check(path: Path, size: int) -> str:
    """Compiles and runs `size` candidates of each space of a dispatch; returns a table row each."""
    dispatch = read_dispatch(path)
    lines = []
    for space in build_spaces(dispatch):
        configs = [space.render(row) for row in candidate_dicts(sample(space, size, seed=0))]
        with open_local_runner(dispatch, configs.__getitem__) as runner:
            outcomes = [outcome for _, outcome in runner.run(range(len(configs)))]
        compiled = sum(o.stage != "compile" for o in outcomes) / len(outcomes)
        right = sum(o.kind == OK for o in outcomes) / len(outcomes)
        others = Counter(f"{o.kind}: {o.reason}"[:90] for o in outcomes if o.kind != OK)
        total = count(space)
        about = "" if total.exact else "about "
        lines.append(
            f"{path.stem:48} {space.pipeline:26} {about}{total.value:>12} "
            f"{compiled:7.0%} {right:7.0%}  {dict(others) or ''}"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    size = int(arguments[0]) if arguments else 100
    print("dispatch, pipeline, candidates, share that compiles, share that is right, failures")
    with tempfile.TemporaryDirectory() as folder:
        given = [Path(a) for a in arguments[1:]]
        for path in given or write_operations(Path(folder), DISPATCHES):
            print(check(path, size), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
