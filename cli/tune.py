"""`frontrunner tune`: a budgeted run on one dispatch."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from ..benchmarks.measuring import DEFAULT_BUDGET
from .choices import (
    FILE,
    FOLDER,
    check_resume,
    cluster_option,
    continued_by,
    default_specs_option,
    device_option,
    extra_option,
    iree_flag_option,
    is_given,
    jobs_option,
    keep_valid_option,
    parse_extras,
    pipeline_option,
    pool_option,
    ranker_option,
)
from .files import check_new_folder, check_out
from .output import Output, UsageError, shared_options
from .pages import show_with_page, tracked_page
from .several import devices_of, dispatches_of, functions_option, targets_option
from .tune_many import tune_each

LIMITS = {"budget", "minutes", "patience"}
# What a resumed run may be given anew; all else is read from its folder.
NEW_PLACES = {"keep_failures", "stages", "cluster", "iree_flags"}
RESUMABLE = {"files", "resume", "as_json", "keep_valid"} | NEW_PLACES | LIMITS
ANEW = (
    "only --budget, --minutes, --patience, --stages, --cluster, --iree-flag and --keep-failures "
    "may be given anew"
)
NEW_FOLDER = "name a new folder"
# What has no meaning where nothing is measured.
MEASURING_OPTIONS = {"--device": "devices", "--patience": "patience"}


@click.command("tune")
@click.argument(
    "files",
    metavar="[IN.mlir...]",
    nargs=-1,
    type=FILE,
)
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Try at most N candidates [{DEFAULT_BUDGET} without --minutes].",
)
@click.option(
    "--minutes",
    type=float,
    metavar="M",
    help="Take no more candidates after M minutes; ordering them comes before, the finals on top.",
)
@click.option(
    "--patience",
    type=click.IntRange(min=1),
    metavar="N",
    help="Stop when N candidates in a row have brought no improvement.",
)
@functions_option
@ranker_option
@device_option
@cluster_option
@targets_option
@default_specs_option
@iree_flag_option
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
    "--stages",
    type=FILE,
    metavar="FILE.toml",
    help="How candidates are judged, one stage after the other; may run commands of your own "
    "[screen, heats].",
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
    /,
    files: tuple[Path, ...],
    function: tuple[str, ...],
    resume: Path | None,
    extras: tuple[str, ...],
    keep_valid: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Find a faster configuration for one dispatch, within a budget.

    IN.mlir holds a dispatch: a linalg function, or a benchmark file that the compiler dumped.
    The result is a tuning spec for `iree-compile --iree-codegen-tuning-spec-path=` (on CUDA and
    Vulkan: `--iree-codegen-transform-dialect-library=`). With --compile-only, it is a table of
    what the compiler makes of each pipeline's candidates.

    Several files, the functions of a file that has several, and several targets are tuned one after
    the other, each within the same limits, into a folder of its own.
    """
    extra_knobs = parse_extras(extras)
    if keep_valid and resume is None:
        raise UsageError("--keep-valid does nothing without --resume", "leave it out")
    if resume is not None:
        check_resume(ctx, resume, RESUMABLE, ANEW)
        if len(files) > 1:
            raise UsageError(f"a run is of one file, got {len(files)}", "leave them out")
    elif not files:
        raise UsageError("IN.mlir is missing", "name a dispatch, or a run with --resume DIR")
    else:
        _check_new(ctx, options, single=len(files) == len(options["targets"]) == 1)

    from ..experiments import tuning

    output = Output(as_json)
    out, targets, devices = (options.pop(name) for name in ("out", "targets", "devices"))
    dispatches = [] if resume is not None else dispatches_of(files, function)
    divided = devices_of(targets, devices, options["cluster"])
    if len(dispatches) > 1 or len(divided) > 1:
        return tune_each(dispatches, divided, out, output, {**options, "extras": extra_knobs})
    # Limits are kept once work has begun, and what is finished goes on with new ones alone.
    given = {name: options[name] for name in sorted(LIMITS) if resume is not None}
    more = "".join(f" --{name} {value}" for name, value in given.items() if value is not None)
    with continued_by(f"tune{more} --resume", resume, options), tracked_page(output) as page:
        if resume is not None:
            anew = {name: options[name] for name in LIMITS | NEW_PLACES}
            result = tuning.resume(
                resume, input=next(iter(files), None), keep_valid=keep_valid, **anew
            )
        else:
            ((file, name),) = dispatches
            ((target, uris),) = divided.items()
            places = {"target": target, "devices": uris, "out": out}
            result = tuning.tune(file, function=name, extras=extra_knobs, **places, **options)
    show_with_page(output, result, page)
    return 0


def _check_new(ctx: click.Context, options: Mapping[str, Any], *, single: bool) -> None:
    """Refuses places that cannot be written, and options that have no meaning together."""
    out, failures = options["out"], options["keep_failures"]
    which, place = ("it", "") if single else ("each", "/NAME")
    resume = f"tune --resume {shlex.quote(str(out))}{place}"
    # A folder of several runs is none itself.
    begun = not single or (out is not None and os.path.isfile(out / "run.json"))
    check_out(
        out, f"continue {which} with `{resume}`, or name a new folder" if begun else NEW_FOLDER
    )
    if failures is not None:
        check_new_folder(failures, "--keep-failures", NEW_FOLDER)
    chosen = [option for option, name in MEASURING_OPTIONS.items() if is_given(ctx, name)]
    if chosen and options["compile_only"]:
        raise UsageError(
            f"{', '.join(chosen)} cannot be given with --compile-only, which measures nothing",
            "leave one of them out",
        )
