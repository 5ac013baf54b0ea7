"""`frontrunner tune`: a budgeted run on one dispatch."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import click
from click.core import ParameterSource

from .choices import (
    device_option,
    extra_option,
    jobs_option,
    parse_extras,
    pipeline_option,
    pool_option,
    ranker_option,
    target_option,
)
from .files import check_new_folder, next_run_folder
from .output import Interrupted, Output, UsageError, shared_options

DEFAULT_CANDIDATES = 64
# What a resumed run may be given anew; all else is read from its folder.
RESUMABLE = {"file", "resume", "budget", "minutes", "patience", "as_json"}
# What has no meaning where nothing is measured.
MEASURING = {"--device": "devices", "--patience": "patience"}

FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command("tune")
@click.argument(
    "file",
    metavar="[IN.mlir]",
    required=False,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Try at most N candidates ({DEFAULT_CANDIDATES} if --minutes is not given either).",
)
@click.option("--minutes", type=float, metavar="M", help="Stop after M minutes.")
@click.option(
    "--patience",
    type=click.IntRange(min=1),
    metavar="N",
    help="Stop when N candidates in a row have brought no improvement.",
)
@ranker_option
@device_option
@target_option
@click.option("--out", type=FOLDER, metavar="DIR", help="Where to write [runs/<name>-<n>].")
@click.option("--resume", type=FOLDER, metavar="DIR", help="Continue the run in this folder.")
@jobs_option
@pool_option
@pipeline_option
@extra_option
@click.option(
    "--compile-only",
    is_flag=True,
    help="Compile candidates and count what comes of it; needs no device, measures nothing.",
)
@click.option(
    "--keep-failures",
    type=FOLDER,
    metavar="DIR",
    help="Where to write a report with a reproducer for each way to fail [failures in the run].",
)
@shared_options(seed="Seeds sampling, ties in the order, and the inputs of the kernels.")
@click.pass_context
def command(
    ctx: click.Context,
    file: Path | None,
    budget: int | None,
    minutes: float | None,
    patience: int | None,
    ranker: str | None,
    devices: tuple[str, ...],
    target: str,
    out: Path | None,
    resume: Path | None,
    jobs: int | None,
    pool: int,
    pipeline: str | None,
    extras: tuple[str, ...],
    compile_only: bool,
    keep_failures: Path | None,
    seed: int,
    as_json: bool,
) -> None:
    """Find a faster configuration for one dispatch, within a budget.

    IN.mlir holds one dispatch: a linalg function, or a benchmark file that the compiler dumped.
    The result is a tuning spec for `iree-compile --iree-codegen-tuning-spec-path=` (on CUDA:
    `--iree-codegen-transform-dialect-library=`). With --compile-only, it is a table of what the
    compiler makes of each pipeline's candidates.
    """
    freed = parse_extras(extras)
    if minutes is not None and not (minutes > 0 and math.isfinite(minutes)):
        raise UsageError(f"--minutes must be more than 0, got {minutes:g}", "such as --minutes 5")
    seconds = None if minutes is None else minutes * 60
    if resume is not None:
        _check_resume(ctx, resume)
        folder = resume
    elif file is None:
        raise UsageError("IN.mlir is missing", "name a dispatch, or a run with --resume DIR")
    else:
        folder = out or next_run_folder(file.stem)
        check_new_folder(folder, "--out")
        if keep_failures is not None:
            check_new_folder(keep_failures, "--keep-failures", "name a new folder")
        if compile_only:
            _check_compile_only(ctx)

    from ..benchmarks.budget import Budget
    from ..experiments.options import TuneOptions
    from ..experiments.progress import make_progress
    from ..experiments.tune import resume as resume_run
    from ..experiments.tune import tune

    output = Output(as_json)
    observer = make_progress(sys.stderr)
    try:
        if resume is not None:
            given = any(value is not None for value in (budget, seconds, patience))
            limits = Budget(budget, seconds, patience) if given else None
            result = resume_run(resume, limits, observer, input=file)
        else:
            assert file is not None
            if budget is None and seconds is None:
                budget = DEFAULT_CANDIDATES
            result = tune(
                TuneOptions(
                    input=file,
                    out=folder,
                    budget=Budget(budget, seconds, patience),
                    ranker=ranker,
                    devices=() if compile_only else devices or None,
                    target=target,
                    seed=seed,
                    jobs=jobs,
                    pool=pool,
                    pipeline=pipeline,
                    extras=freed,
                    compile_only=compile_only,
                    keep_failures=keep_failures,
                ),
                observer,
            )
    except KeyboardInterrupt:
        saved = (folder / "run.json").exists()
        hint = f"continue with: frontrunner tune --resume {folder}" if saved else ""
        raise Interrupted(hint) from None
    finally:
        observer.close()
    for line in result.summary_lines():
        output.line(line)
    output.result(result.to_dict())


def _check_compile_only(ctx: click.Context) -> None:
    given = [option for option, name in MEASURING.items() if _given(ctx, name)]
    if given:
        raise UsageError(
            f"{', '.join(given)} cannot be given with --compile-only, which measures nothing",
            "leave one of them out",
        )


def _check_resume(ctx: click.Context, folder: Path) -> None:
    if not folder.is_dir():
        raise UsageError(f"--resume: there is no folder {folder}", "name the folder of a run")
    fixed = [
        parameter.opts[0]
        for parameter in ctx.command.params
        if parameter.name not in RESUMABLE and _given(ctx, str(parameter.name))
    ]
    if fixed:
        raise UsageError(
            f"{', '.join(fixed)} cannot change when a run is resumed",
            "only --budget, --minutes and --patience may be given anew",
        )


def _given(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
