"""`frontrunner tune-model`: finds a model's hot dispatches, tunes them, proves the gain."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import click

from .choices import (
    check_minutes,
    check_resume,
    jobs_option,
    pool_option,
    ranker_option,
    target_option,
)
from .files import check_out
from .output import Interrupted, Output, UsageError, shared_options

RESUMABLE = {"file", "resume", "as_json"}
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command("tune-model")
@click.argument("file", metavar="[MODEL.mlir|MODEL.onnx]", required=False, type=FILE)
@click.option(
    "--minutes",
    type=float,
    default=15.0,
    show_default=True,
    metavar="M",
    help="For everything, from reading the model to proving the gain.",
)
@click.option(
    "--coverage",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.9,
    show_default=True,
    metavar="SHARE",
    help="Look at the dispatches that make up this share of the time.",
)
@click.option("--function", metavar="NAME", help="Call this one [the only public one].")
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="TENSOR",
    help="An input, such as 1x128xi64=7 or @ids.npy, in the order of the arguments; given for all "
    "or none [random ones].",
)
@click.option(
    "--parameters",
    multiple=True,
    metavar="[SCOPE=]FILE",
    help="An archive that holds weights; may be repeated.",
)
@click.option(
    "--spec",
    "starter",
    multiple=True,
    type=FILE,
    metavar="SPEC",
    help="Compile the model with this spec to begin with; may be repeated, the newest last.",
)
@click.option(
    "--default-specs", is_flag=True, help="Let the compiler use the specs that it comes with, too."
)
@ranker_option
@click.option(
    "--device", metavar="URI", help="Measure here [local-task for CPUs, cuda or hip for GPUs]."
)
@target_option
@click.option("--out", type=FOLDER, metavar="DIR", help="Where to write [runs/<name>-<n>].")
@click.option("--resume", type=FOLDER, metavar="DIR", help="Go on in this folder.")
@jobs_option
@pool_option
@shared_options(seed="Seeds the inputs, sampling, and the orders of measurements.")
@click.pass_context
def command(
    ctx: click.Context,
    file: Path | None,
    minutes: float,
    coverage: float,
    function: str | None,
    inputs: tuple[str, ...],
    parameters: tuple[str, ...],
    starter: tuple[Path, ...],
    default_specs: bool,
    ranker: str | None,
    device: str | None,
    target: str,
    out: Path | None,
    resume: Path | None,
    jobs: int | None,
    pool: int,
    seed: int,
    as_json: bool,
) -> None:
    """Find a spec that makes a whole model faster, within a budget.

    The model is profiled, the dispatches that take most of its time are tuned, and the best
    candidates are tried in the model: what stays has to make it faster there. The result is one
    tuning spec, or none.
    """
    check_minutes(minutes)
    if math.isnan(coverage):  # which click's range lets through
        raise UsageError("--coverage must be in 0 to 1, got nan", "such as --coverage 0.9")
    archives = tuple(_archive(text) for text in parameters)
    if resume is not None:
        check_resume(ctx, resume, RESUMABLE, "the options of the first session hold")
    elif file is None:
        raise UsageError("MODEL is missing", "name a model, or a folder with --resume DIR")
    else:
        check_out(out, f"go on in it with `tune-model --resume {out}`")

    from ..experiments.network_tuning import COLUMNS, ModelOptions, resume_model, tune_model
    from ..experiments.observing import make_progress
    from ..experiments.tuning import RunInterrupted

    output = Output(as_json)

    try:
        if resume is not None:
            result = resume_model(resume, lambda: make_progress(sys.stderr), output.note, file)
        else:
            assert file is not None
            options = ModelOptions(
                input=file,
                out=out,
                minutes=minutes,
                coverage=coverage,
                function=function,
                inputs=inputs,
                parameters=archives,
                starter=starter,
                default_specs=default_specs,
                ranker=ranker,
                device=device,
                target=target,
                seed=seed,
                jobs=jobs,
                pool=pool,
            )
            result = tune_model(options, lambda: make_progress(sys.stderr), output.note)
    except KeyboardInterrupt as interrupt:
        folder = interrupt.folder if isinstance(interrupt, RunInterrupted) else resume
        hint = f"continue with: frontrunner tune-model --resume {folder}" if folder else ""
        raise Interrupted(hint) from None
    output.table(COLUMNS, result.rows())
    output.line()
    for line in result.summary_lines():
        output.line(line)
    output.result(result.to_dict())


def _archive(text: str) -> tuple[str, Path]:
    """`SCOPE=FILE`; without a scope, weights have none."""
    scope, equals, path = text.partition("=")
    return (scope, Path(path)) if equals else ("", Path(text))
