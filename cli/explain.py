"""`frontrunner explain`: what makes a candidate's position in an order."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .choices import (
    extra_option,
    is_given,
    parse_extras,
    pipeline_option,
    pool_option,
    ranker_option,
    target_option,
)
from .output import Output, UsageError, shared_options
from .several import function_option

if TYPE_CHECKING:
    from ..experiments.learning import Contribution, Explanation

# What says which candidates there are, where they are not those of a recording.
SAMPLING_OPTIONS = {
    "--function": "function",
    "--target": "target",
    "--pipeline": "pipeline",
    "--extra": "extras",
    "--pool": "pool",
}


@click.command("explain")
@click.argument(
    "file",
    metavar="IN.mlir|RECORDING",
    type=click.Path(exists=True, path_type=Path),
)
@ranker_option
@click.option(
    "--candidate",
    type=click.IntRange(min=1),
    metavar="N",
    help="Explain the candidate at position N of the order [1].",
)
@click.option("--top", type=click.IntRange(min=1), metavar="N", help="Explain the first N.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KNOB=VALUE",
    help="Explain the first candidate with this value of a knob; may be repeated.",
)
@click.option(
    "--row",
    type=click.IntRange(min=0),
    metavar="N",
    help="Explain the candidate of a recording that has N in its column `index`, from 0.",
)
@click.option(
    "--features",
    "most",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="Show the N features that add or take away most; --json has all.",
)
@function_option
@target_option
@pipeline_option
@extra_option
@pool_option
@shared_options(seed="Seeds sampling and ties in the order, as in `tune`.")
@click.pass_context
def command(
    ctx: click.Context,
    file: Path,
    ranker: str | None,
    candidate: int | None,
    top: int | None,
    settings: tuple[str, ...],
    row: int | None,
    most: int,
    function: str | None,
    target: str,
    pipeline: str | None,
    extras: tuple[str, ...],
    pool: int,
    seed: int,
    as_json: bool,
) -> None:
    """Tell why an order put a candidate where it did.

    A score is a base plus what each feature adds to it (for trees: its exact Shapley value; for the
    heuristic: its terms); the lowest score runs first. Rankers of trees and the heuristic keep
    candidates of one register tile apart. The candidates are those that `tune` would order, or
    those of a recording (*.parquet, *.json, *.json.gz), with their times.
    """
    if file.is_dir():
        place = shlex.quote(str(file))
        raise UsageError(
            f"{file} is a folder",
            f"give IN.mlir or a recording; `frontrunner report {place}` tells it of a run's winner",
        )
    given = {"--candidate": candidate, "--top": top, "--set": settings or None, "--row": row}
    chosen = [option for option, value in given.items() if value is not None]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(chosen)} cannot be given together", "give one of them")
    knobs = _parse_knobs(settings)
    extra_knobs = parse_extras(extras)

    from ..experiments.dataset import looks_like_recording
    from ..experiments.learning import (
        ENDINGS,
        CandidatePool,
        CandidateSelection,
        device_warning,
        explain,
    )
    from ..experiments.observing import local_ranker
    from ..models import resolve_ranker
    from ..search.reading import read_dispatch

    # By its name, too: so what is wrong with a damaged one is told.
    recorded = file.name.endswith(ENDINGS) or looks_like_recording(file)
    if recorded:
        _check_recording(ctx)
    elif row is not None:
        raise UsageError("--row is for recordings", "choose with --candidate, --top or --set")
    output = Output(as_json)
    # A ranker that cannot be used is refused before the compiler is asked.
    chosen_ranker = resolve_ranker(local_ranker(ranker), seed=seed) if ranker else None
    with output.working("explaining") as progress:
        if recorded:
            candidates = CandidatePool.of_recording(file)
        else:
            dispatch = read_dispatch(file, target, function=function)
            progress(1, 3)
            candidates = CandidatePool.of_dispatch(dispatch, pool, seed, pipeline, extra_knobs)
        progress(2, 3)
        if chosen_ranker is None:
            if not candidates.ranker:
                raise UsageError(
                    "--ranker is missing",
                    "give --ranker NAME|FILE: other people's kernels have no usual one",
                )
            chosen_ranker = resolve_ranker(candidates.ranker, seed=seed)
        choice = CandidateSelection(position=candidate or 1, top=top, row=row, knobs=knobs)
        explained = explain(chosen_ranker, candidates, choice, seed)
    if warning := device_warning(chosen_ranker, candidates.devices, candidates.arch):
        output.notify(warning)
    for one in explained:
        _show(output, one, most)
    output.result({"ranker": chosen_ranker.name, "explained": [e.to_dict() for e in explained]})


def _parse_knobs(settings: tuple[str, ...]) -> dict[str, str]:
    knobs: dict[str, str] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--set: {text!r} sets nothing", "give KNOB=VALUE, such as vec_n=16")
        if name in knobs:
            raise UsageError(f"--set: {name} is given twice", "give each knob once")
        knobs[name] = value
    return knobs


def _check_recording(ctx: click.Context) -> None:
    drawing = [option for option, name in SAMPLING_OPTIONS.items() if is_given(ctx, name)]
    if drawing:
        raise UsageError(
            f"{', '.join(drawing)} cannot be given with a recording, which has its candidates",
            "leave it out",
        )


def _show(output: Output, one: Explanation, most: int) -> None:
    place = f"{one.position:,} of {one.candidates:,}"
    output.line(f"candidate    {', '.join(filter(None, [place, one.pipeline]))}")
    output.line(f"knobs        {' '.join(f'{k}={v}' for k, v in one.knobs.items())}")
    if one.place is not None:
        output.line(f"measured     {one.time_us:.1f} us, place {one.place}")
    elif one.row is not None:
        output.line("measured     it failed")
    score = one.score
    output.line(f"score        {score.score:.4g} by {score.ranker}, from {score.base:.4g}")
    output.line()
    shares = [share for share in score.shares if share.adds]
    rows = [(f"{s.adds:+.3g}", s.name, _values(s), s.text) for s in shares[:most]]
    if rest := shares[most:]:
        others = f"{len(rest)} other{'s' * (len(rest) > 1)}"
        rows.append((f"{sum(s.adds for s in rest):+.3g}", others, "", ""))
    output.table(["#adds", "what", "value", "what it is"], rows)
    output.line()


def _values(share: Contribution) -> str:
    if list(share.values) == [share.name]:
        return f"{share.values[share.name]:g}"
    return ", ".join(f"{name} {value:g}" for name, value in share.values.items())
