"""`frontrunner tune`: a budgeted run on one dispatch."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from .choices import (
    check_minutes,
    check_resume,
    device_option,
    extra_option,
    given,
    jobs_option,
    keep_valid_option,
    parse_extras,
    pipeline_option,
    pool_option,
    ranker_option,
    target_option,
)
from .files import check_new_folder, check_out
from .output import Interrupted, Output, UsageError, shared_options

DEFAULT_CANDIDATES = 64
# What a resumed run may be given anew; all else is read from its folder.
RESUMABLE = {"file", "resume", "budget", "minutes", "patience", "as_json"} | {
    "keep_failures",
    "keep_valid",
}
ANEW = "only --budget, --minutes, --patience and --keep-failures may be given anew"
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
@keep_valid_option
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
    keep_valid: bool,
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
    if keep_valid and resume is None:
        raise UsageError("--keep-valid does nothing without --resume", "leave it out")
    if minutes is not None:
        check_minutes(minutes)
    seconds = None if minutes is None else minutes * 60
    if resume is not None:
        check_resume(ctx, resume, RESUMABLE, ANEW)
    elif file is None:
        raise UsageError("IN.mlir is missing", "name a dispatch, or a run with --resume DIR")
    else:
        check_out(out, f"continue it with `tune --resume {out}`, or name a new folder")
        if keep_failures is not None:
            check_new_folder(keep_failures, "--keep-failures", "name a new folder")
        if compile_only:
            _check_compile_only(ctx)

    from ..benchmarks.measuring import Budget
    from ..experiments.observing import make_progress
    from ..experiments.tuning import RunInterrupted, TuneOptions, tune
    from ..experiments.tuning import resume as resume_run

    output = Output(as_json)
    observer = make_progress(sys.stderr)
    try:
        if resume is not None:
            anew = any(value is not None for value in (budget, seconds, patience))
            limits = Budget(budget, seconds, patience) if anew else None
            result = resume_run(
                resume,
                limits,
                observer,
                input=file,
                keep_failures=keep_failures,
                keep_valid=keep_valid,
            )
        else:
            assert file is not None
            if budget is None and seconds is None:
                budget = DEFAULT_CANDIDATES
            result = tune(
                TuneOptions(
                    input=file,
                    out=out,
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
    except KeyboardInterrupt as interrupt:
        folder = interrupt.folder if isinstance(interrupt, RunInterrupted) else resume
        hint = f"continue with: frontrunner tune --resume {folder}" if folder else ""
        raise Interrupted(hint) from None
    finally:
        observer.close()
    for line in result.summary_lines():
        output.line(line)
    output.result(result.to_dict())


def _check_compile_only(ctx: click.Context) -> None:
    chosen = [option for option, name in MEASURING.items() if given(ctx, name)]
    if chosen:
        raise UsageError(
            f"{', '.join(chosen)} cannot be given with --compile-only, which measures nothing",
            "leave one of them out",
        )
