"""How much of a space is valid: a random sample per kind, through the real compiler.

    python -m frontrunner.experiments.studies.validity [--target NAME ...] [--count N] [IN.mlir ...]

Prints by dispatch and pipeline how many compile, and how many also compute what the default
computes; then the sums by pipeline and target. Candidates for this machine's CPU are run, those for
other targets only with `--device URI`.
"""

from __future__ import annotations

import tempfile
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pandas as pd

from ...benchmarks.measuring import OK, Outcome
from ...benchmarks.operations import Attention, Conv, Matmul, Matvec, Types, write_operations
from ...benchmarks.runners import CompileRunner, LocalRunner, open_local_runner
from ...core import InputError
from ...search import Dispatch, Space, build_spaces
from ...search.enumeration import candidate_dicts, count, sample
from ...search.reading import read_dispatch
from .command_line import NOTHING_TO_DO, run_study

HOST = "host"
DISPATCHES = (
    Matmul(197, 768, 768),
    Matmul(256, 512, 256, Types("i8", "i32")),
    Matmul(256, 512, 256, Types("bf16", "f32"), transposed=("rhs",)),
    Matmul(64, 1024, 1024, Types("f16", "f32")),
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


def check(
    name: str, dispatch: Dispatch, space: Space, size: int, device: str | None
) -> dict[str, int]:
    """How many of `size` candidates compile and are right; prints what fails."""
    configs = [space.render(row) for row in candidate_dicts(sample(space, size, seed=0))]
    with _runner(dispatch, configs, device) as runner:
        outcomes = [outcome for _, outcome in runner.run(range(len(configs)))]
    compiled = sum(o.stage != "compile" for o in outcomes)
    right = sum(o.kind == OK for o in outcomes)
    total = count(space)
    print(
        f"{dispatch.target.name:26} {name:48} {space.pipeline:26} "
        f"{'' if total.exact else 'about '}{total.value:>12} {compiled:4} {right:4} of "
        f"{len(outcomes)}  {dict(Counter(_words(o) for o in outcomes if o.kind != OK)) or ''}",
        flush=True,
    )
    return {"compiled": compiled, "right": right, "of": len(outcomes)}


@contextmanager
def _runner(
    dispatch: Dispatch, configs: Sequence[str], device: str | None
) -> Iterator[CompileRunner | LocalRunner]:
    """One that runs candidates on the device, or compiles them."""
    if device is not None:
        with open_local_runner(dispatch, configs.__getitem__, [device]) as runner:
            yield runner
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compiling = CompileRunner(
            dispatch, configs.__getitem__, folder / "executables", folder / "logs"
        )
        with closing(compiling):
            compiling.start({})
            yield compiling


def _words(outcome: Outcome) -> str:
    return f"{outcome.kind}: {outcome.reason}"[:90]


def main(arguments: Sequence[str]) -> None:
    parser = ArgumentParser(prog="validity")
    parser.add_argument("--target", action="append")
    parser.add_argument("--device")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("files", nargs="*", type=Path)
    given = parser.parse_args(arguments)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for target in given.target or [HOST]:
            device = "local-task" if target == HOST else given.device
            for path in given.files or write_operations(Path(folder), DISPATCHES):
                try:
                    dispatch = read_dispatch(path, target)
                    spaces = build_spaces(dispatch)
                except InputError as error:
                    print(f"{target:26} {path.stem:48} {error}", flush=True)
                    continue
                for space in spaces:
                    found = check(path.stem, dispatch, space, given.count, device)
                    rows.append({"pipeline": space.pipeline, "target": target, **found})
    if not rows:
        raise InputError("no space to draw candidates from", NOTHING_TO_DO)
    print(pd.DataFrame(rows).groupby(["pipeline", "target"]).sum().to_string())


if __name__ == "__main__":
    run_study(main, __doc__)
