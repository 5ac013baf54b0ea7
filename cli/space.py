"""`frontrunner space`: how many candidates there are, and which."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .choices import (
    FILE,
    default_specs_option,
    extra_option,
    iree_flag_option,
    parse_extras,
    pipeline_option,
    target_option,
)
from .files import check_replaceable
from .output import Output, UsageError, shared_options
from .several import function_option

if TYPE_CHECKING:
    import pandas as pd

    from ..core import Progress
    from ..search import Dispatch, Space
    from ..search.enumeration import Count

# A table of this many candidates takes a few gigabytes of memory.
MOST_ROWS = 20_000_000
# What a table says of itself, so that a later one may replace it.
OWN = "frontrunner space"


@click.command("space")
@click.argument("file", metavar="IN.mlir", type=FILE)
@function_option
@target_option
@default_specs_option
@iree_flag_option
@pipeline_option
@extra_option
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help="List N candidates, sampled uniformly over all pipelines.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE.parquet",
    help="Write the candidates to a table: all of them, or --limit of them.",
)
@shared_options(seed="Seeds the sample that --limit takes.")
def command(
    file: Path,
    function: str | None,
    target: str,
    default_specs: bool,
    iree_flags: tuple[str, ...],
    pipeline: str | None,
    extras: tuple[str, ...],
    limit: int | None,
    out: Path | None,
    seed: int,
    as_json: bool,
) -> None:
    """Count the candidates of each pipeline, or list them."""
    if out is not None:
        check_replaceable(out, "--out", OWN.encode(), "table of candidates")
        if out.suffix != ".parquet":
            raise UsageError(f"--out: {out} is to be a Parquet file", "such as candidates.parquet")

    extra_knobs = parse_extras(extras)

    from ..core import write_atomically
    from ..search import build_spaces, parse_flags
    from ..search.enumeration import count
    from ..search.reading import read_dispatch

    output = Output(as_json)
    flags = parse_flags(iree_flags, target)
    with output.working("counting candidates") as progress:
        dispatch = read_dispatch(
            file, target, function=function, default_specs=default_specs, iree_flags=flags
        )
        spaces = build_spaces(dispatch, pipeline, extra_knobs)
        counts = []
        for done, space in enumerate(spaces, start=1):
            progress(done, 1 + len(spaces))
            counts.append(count(space))
    total = sum(c.value for c in counts)
    data: dict[str, Any] = {
        "problem": dispatch.problem.to_dict(),
        "target": dispatch.target.to_dict(),
        "pipelines": {s.pipeline: c.value for s, c in zip(spaces, counts, strict=True)},
        "exact": {s.pipeline: c.exact for s, c in zip(spaces, counts, strict=True)},
    }
    _show(output, dispatch, spaces, counts)

    if limit is not None or out is not None:
        rows = min(total, limit) if limit is not None else total
        # What is too large to be counted exactly is drawn from: the last ones would take hours.
        most = MOST_ROWS if all(c.exact for c in counts) else min(MOST_ROWS, total // 2)
        if rows > most:
            raise UsageError(
                f"{rows:,} candidates are too many for one table",
                f"take a sample: --limit N, at most {most:,}",
            )
        with output.working(f"listing {rows:,} candidates") as progress:
            sizes = split_sample([c.value for c in counts], rows)
            frame = _sample(spaces, sizes, seed, progress)
            frame.attrs["written by"] = OWN
            table = frame.to_parquet(index=False) if out is not None else b""
        if out is not None:
            write_atomically(out, table)
            output.line(f"{len(frame):,} candidates written to {out}")
            data["out"] = out
        else:
            output.line()
            numbered = [[n, *cells] for n, cells in enumerate(_cells(frame), 1)]
            output.table(["candidate", *map(str, frame.columns)], numbered)
            data["candidates"] = _records(frame)
    output.result(data)


def split_sample(sizes: list[int], sample_size: int) -> list[int]:
    """Splits a sample over pipelines in proportion to their sizes.

    Args:
        sizes: candidates per pipeline.
        sample_size: size of the whole sample, at most the sum of `sizes`.

    Returns:
        Parts that add up to `sample_size`, none larger than its pipeline.
    """
    total = sum(sizes)
    parts = [sample_size * size // total if total else 0 for size in sizes]
    # What rounding down left over goes to those that lost most by it.
    lost = sorted(
        range(len(sizes)), key=lambda i: -(sample_size * sizes[i] % total if total else 0)
    )
    for i in lost[: sample_size - sum(parts)]:
        parts[i] += 1
    return parts


def _show(
    output: Output, dispatch: Dispatch, spaces: tuple[Space, ...], counts: list[Count]
) -> None:
    problem = dispatch.problem
    fused = f", fused with {', '.join(problem.fused)}" if problem.fused else ""
    output.line(f"{problem.kind}: {problem.op}{fused}")
    output.line(", ".join(f"{o.name} {o.dtype}" for o in problem.operands))
    output.line()
    output.table(
        ["dim", "#size", "role", "loop"],
        [(d.name, d.size, d.role, "parallel" if d.parallel else "reduction") for d in problem.dims],
    )
    output.line()
    output.table(
        ["pipeline", "#knobs", "#candidates"],
        [
            (s.pipeline, len(s.knobs), f"{'' if c.exact else 'about '}{c.value:,}")
            for s, c in zip(spaces, counts, strict=True)
        ],
    )
    for space, found in zip(spaces, counts, strict=True):
        if not found.value:
            rules = len(space.constraints)
            output.notify(
                f"{space.pipeline}: nothing satisfies all {rules} of its constraints here"
            )
    if dispatch.f64_remark:
        output.notify(dispatch.f64_remark)
    if not spaces and not dispatch.no_constraints_reason:
        output.notify(f"nothing is known to tune of it on {dispatch.target.name}")
    if dispatch.no_constraints_reason:
        whose = "these spaces are frontrunner's own" if spaces else "there is no space"
        output.notify(f"{whose}: {dispatch.no_constraints_reason}")


def _sample(
    spaces: tuple[Space, ...], sizes: list[int], seed: int, progress: Progress
) -> pd.DataFrame:
    import pandas as pd

    from ..search.enumeration import sample

    frames = []
    for space, size in zip(spaces, sizes, strict=True):
        frame = sample(space, size, seed)[[knob.name for knob in space.knobs]]
        # Nullable, for a knob that only some pipelines have stays an integer in the others.
        frame = frame.astype("Int64").reset_index(drop=True)
        frame.insert(0, "pipeline", space.pipeline)
        frames.append(frame)
        progress(len(frames), len(spaces))
    return pd.concat(frames or [pd.DataFrame({"pipeline": []})], ignore_index=True)


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """One mapping per candidate, without the knobs that its pipeline does not have."""
    import pandas as pd

    return [
        {str(k): v for k, v in row.items() if not pd.isna(v)} for row in frame.to_dict("records")
    ]


def _cells(frame: pd.DataFrame) -> list[list[str]]:
    return [[str(row.get(str(column), "")) for column in frame.columns] for row in _records(frame)]
