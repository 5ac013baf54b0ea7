"""`frontrunner tune-model`: finds a model's hot dispatches, tunes them, proves the gain."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from .choices import (
    FILE,
    FOLDER,
    check_resume,
    cluster_option,
    continued_by,
    default_specs_option,
    iree_flag_option,
    is_given,
    jobs_option,
    pool_option,
    ranker_option,
    target_option,
)
from .completing import complete_devices
from .files import check_out
from .output import Output, UsageError, shared_options
from .pages import show_with_page, tracked_page

RESUMABLE = {"file", "resume", "minutes", "cluster", "iree_flags", "options", "as_json"}


@click.command("tune-model")
@click.argument("file", metavar="[MODEL.mlir|MODEL.onnx]", required=False, type=FILE)
@click.option(
    "--minutes",
    type=float,
    default=15.0,
    show_default=True,
    metavar="M",
    help="After this time nothing more is tried; what was found is then compared and timed.",
)
@click.option(
    "--coverage",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.9,
    show_default=True,
    metavar="SHARE",
    help="Look at the dispatches that make up this share of the time.",
)
@click.option(
    "--function",
    metavar="NAME[=CALLS],...",
    help="Call this one, or several, each as often as a run of the model does, such as "
    "prefill=1,decode=100 [the only public one].",
)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="TENSOR",
    help="An input, such as 1x128xi64=7, @ids.npy or, where it is no tensor, 0.5, in the order of "
    "the arguments; given for all or none [random ones]. Without values, such as 1x128xi64, these "
    "are random.",
)
@click.option(
    "--dim",
    "dims",
    multiple=True,
    metavar="NAME=SIZE,...",
    help="Tune for these sizes of a dynamic dimension, all together, such as seq=64,128 for "
    "--input 1xseqxi64; may be repeated, for all combinations.",
)
@click.option(
    "--parameters",
    multiple=True,
    metavar="[SCOPE=]FILE",
    help="An archive that holds weights; may be repeated.",
)
@click.option(
    "--spec",
    "specs",
    multiple=True,
    type=FILE,
    metavar="SPEC",
    help="Compile the model with this spec to begin with; of several, the one named last wins.",
)
@default_specs_option
@iree_flag_option
@click.option(
    "--options",
    default="auto",
    show_default=True,
    metavar="auto|none|FILE",
    help="Options of the compiler to try for the whole model: those that help some, none, or those "
    "of a TOML file, each a list of flags by a name.",
)
@ranker_option
@click.option(
    "--device",
    metavar="URI",
    shell_complete=complete_devices,
    help="Measure on this device [local-task for CPUs, cuda, hip or vulkan for GPUs].",
)
@cluster_option
@target_option
@click.option("--out", type=FOLDER, metavar="DIR", help="Where to write [runs/<name>-<n>].")
@click.option(
    "--resume",
    type=FOLDER,
    metavar="DIR",
    help="Go on in this folder; where it is finished, with --minutes.",
)
@jobs_option
@pool_option
@shared_options(seed="Seeds the inputs, sampling, and the orders of measurements.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    file: Path | None,
    resume: Path | None,
    parameters: tuple[str, ...],
    as_json: bool,
    **given: Any,
) -> None:
    """Find a spec that makes a whole model faster, within a budget.

    It is compiled with options that make some models faster; with the best, or without, it is
    profiled, the dispatches that take most of its time are tuned, and the best candidates are tried
    in the model: what stays has to make it faster there. The result is one tuning spec, or none,
    and a file of flags for `iree-compile @FILE`; the report has the command.
    """
    archives = [_archive(text) for text in parameters]
    if resume is not None:
        check_resume(
            ctx,
            resume,
            RESUMABLE,
            "only --minutes, --cluster, --iree-flag and --options can be given again",
        )
    elif file is None:
        raise UsageError("MODEL is missing", "name a model, or a folder with --resume DIR")
    else:
        place = shlex.quote(str(given["out"]))
        check_out(given["out"], f"go on in it with `tune-model --resume {place}`")

    from ..experiments import network_tuning

    output = Output(as_json)
    # What is finished is not gone on with for no time.
    more = f" --minutes {given['minutes']:g}" if resume and is_given(ctx, "minutes") else ""
    command_line = f"tune-model{more} --resume"
    with continued_by(command_line, resume, given), tracked_page(output) as page:
        if resume is not None:
            again = {name: given[name] for name in ("cluster", "iree_flags")}
            for name in ("options", "minutes"):
                again[name] = given[name] if is_given(ctx, name) else None
            result = network_tuning.resume_model(resume, input=file, **again)
        else:
            assert file is not None
            result = network_tuning.tune_model(file, parameters=archives, **given)
    output.table(network_tuning.COLUMNS, result.rows())
    output.line()
    show_with_page(output, result, page)


def _archive(text: str) -> tuple[str, Path]:
    """`SCOPE=FILE`; without a scope, weights have none."""
    scope, equals, path = text.partition("=")
    return (scope, Path(path)) if equals else ("", Path(text))
