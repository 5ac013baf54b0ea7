"""What unrolling a convolution's window gains, for those that the compiler does not vectorise.

    python -m frontrunner.experiments.studies.windows [CANDIDATES]

tunes grouped, depthwise and 3-d convolutions with as many candidates (24) of each pipeline that
takes them: `UnrolledWindow`, and those that tile. Prints speedups over the compiler's default, and
what became of the former's candidates. The order is the shipped one's, which has seen none of these
candidates.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from ...benchmarks.operations import Conv, Conv3d, Operation, Types, write_operations
from ...search import build_spaces
from ...search.reading import read_dispatch
from ..tuning import TuneResult, tune
from .command_line import run_study

CANDIDATES = 24
TILED, DECOMPOSED, UNROLLED = "DoubleTilingExpert", "ConvTileAndDecomposeExpert", "UnrolledWindow"
PIPELINES = (TILED, DECOMPOSED, UNROLLED)
DISPATCHES: tuple[Operation, ...] = (
    # Two of a RegNet's, then one each of what such convolutions differ in.
    Conv(14, 14, 208, 208, groups=26, layout="nchw"),
    Conv(56, 56, 48, 48, groups=6, stride=(2, 2), layout="nchw"),
    Conv(28, 28, 64, 64, groups=8, dilation=(2, 2), layout="nchw"),
    Conv(14, 14, 64, 64, groups=8, images=4, layout="nchw"),
    Conv(14, 14, 64, 64, groups=8, window=(1, 5), layout="nchw"),
    Conv(14, 14, 64, 64, groups=8),
    Conv(14, 14, 64, 64, groups=8, layout="nchw", types=Types("f16", "f32")),
    Conv(14, 14, 64, 64, groups=8, layout="nchw", types=Types("i8", "i32")),
    Conv3d(8, 32, 32, 3, 16, layout="ncdhw"),
    # A ConvNeXt's, and two of a MobileNet's.
    Conv.square(56, 64, 0, 7, layout="nchw"),
    Conv.square(56, 144, 0, 3, layout="nchw"),
    Conv.square(28, 192, 0, 3, stride=2, layout="nchw"),
)


def tuned(file: Path, pipeline: str, candidates: int) -> TuneResult:
    """Into a folder beside the file."""
    out = file.with_suffix(f".{pipeline}")
    # Named, since the tables are of this order, whichever is the usual one.
    result = tune(file, pipeline=pipeline, budget=candidates, ranker="cpu", out=out, quiet=True)
    assert isinstance(result, TuneResult)
    return result


def speedup(result: TuneResult) -> str:
    low, high = result.speedup_ci
    return f"{result.speedup:.2f}x ({low:.2f} to {high:.2f})"


def row(file: Path, pipelines: Sequence[str], candidates: int) -> list[str]:
    """Of the table, for one convolution."""
    dispatch = read_dispatch(file)
    taken = [space.pipeline for space in build_spaces(dispatch)]
    results = {name: tuned(file, name, candidates) for name in pipelines if name in taken}
    last = results[pipelines[-1]]
    became = ", ".join(f"{count} {kind}" for kind, count in last.outcomes.items())
    speedups = [speedup(results[name]) if name in results else "–" for name in pipelines]
    return [file.stem, f"{last.baseline_us:,.0f} us", *speedups, became]


def write_table(
    convolutions: Sequence[Operation], pipelines: Sequence[str], candidates: int
) -> None:
    """Tunes each with so many candidates of each pipeline, all of which take the last one."""
    header = ("convolution", "default", *(f"`{name}`" for name in pipelines), "of the last")
    write_row(header)
    write_row(["---"] * len(header))
    with tempfile.TemporaryDirectory() as folder:
        for file in write_operations(Path(folder), convolutions):
            write_row(row(file, pipelines, candidates))


def main(arguments: Sequence[str]) -> None:
    write_table(DISPATCHES, PIPELINES, int(arguments[0]) if arguments else CANDIDATES)


def write_row(cells: Sequence[str]) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    run_study(main, __doc__)
