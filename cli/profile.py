"""`frontrunner profile`: dispatches and their configurations, verified and timed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .choices import (
    cluster_option,
    default_specs_option,
    iree_flag_option,
    is_given,
    jobs_option,
    keep_valid_option,
    target_option,
)
from .completing import complete_devices
from .files import check_new_file
from .output import Interrupted, Output, UsageError, shared_options


@click.command("profile")
@click.argument("path", metavar="DIR", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--dispatches",
    "patterns",
    multiple=True,
    metavar="REGEX,REGEX",
    help="Only those whose names match one of these anywhere.",
)
@click.option(
    "--verify/--no-verify",
    default=True,
    show_default=True,
    help="Compare results with a reference in NumPy.",
)
@click.option(
    "--profile/--no-profile",
    "measure",
    default=True,
    show_default=True,
    help="Time; --no-profile --verify runs dispatches to be verified alone.",
)
@click.option(
    "--compile-only",
    "--compile",
    "compile_only",
    is_flag=True,
    help="Compile alone: runs nothing, and needs no device.",
)
@click.option(
    "--keep-vmfb",
    is_flag=True,
    help="Keep compiled modules beside the dispatches, and logs of those that do not compile.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "block"]),
    default="table",
    show_default=True,
    help="How rows are shown: a table, or some lines for each.",
)
@click.option(
    "--out",
    "--output",
    "out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.csv",
    help="Write the table here, and as Parquet beside it [profile.csv in DIR].",
)
@click.option(
    "--providers",
    metavar="NAME,NAME",
    help="Libraries to compare with: numpy, torch, onnxruntime, or none [those that are "
    "installed; none for GPUs].",
)
@click.option(
    "--device",
    metavar="URI",
    shell_complete=complete_devices,
    help="Run on this device [the target's usual one].",
)
@cluster_option
@target_option
@default_specs_option
@iree_flag_option
@jobs_option
@click.option("--force", is_flag=True, help="Start anew, where --out has other rows already.")
@keep_valid_option
@shared_options(seed="Seeds the inputs.")
def command(
    path: Path,
    patterns: tuple[str, ...],
    out: Path | None,
    form: str,
    force: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Compile, verify and time dispatches and their configurations.

    DIR holds dispatches, as `frontrunner generate` writes them, or any MLIR files with one each;
    those of `generate` can be verified. An interrupted profile goes on where it was: give the same
    command again. The exit code is 1 if anything is wrong, crashes or does not compile.
    """
    context = click.get_current_context()
    to_run = [options[name] and is_given(context, name) for name in ("verify", "measure")]
    if options["compile_only"] and any([options["device"], options["providers"], *to_run]):
        raise UsageError(
            "--device, --providers, --verify and --profile do nothing with --compile-only, which "
            "runs nothing",
            "leave them out",
        )
    if not options["measure"] and options["providers"] not in (None, "none"):
        raise UsageError(
            "--providers does nothing with --no-profile, which times nothing", "leave it out"
        )

    if out == Path():
        raise UsageError("--out is empty", "name a file such as times.csv")

    from ..experiments.profiling import ENDINGS, blocks, profile, table, usual_output

    out = out or usual_output(path)
    for ending in (*ENDINGS, ".jsonl"):
        check_new_file(out.with_suffix(ending), "--out")
    output = Output(as_json)
    try:
        result = profile(path, dispatches=patterns, output=out, force=force, **options)
    except KeyboardInterrupt as interrupt:
        begun = getattr(interrupt, "kept", None)
        kept = "what was measured is kept" if begun else "nothing was measured"
        without = ", without --force" if force and begun else ""
        raise Interrupted(f"{kept}; give the same command again{without}") from None
    if form == "block":
        for line in blocks(result.rows):
            output.line(line)
    else:
        titles, cells = table(result.rows)
        # What is too wide for a line comes in parts, which begin with the row's number.
        output.table(["row", *titles], [[n, *row] for n, row in enumerate(cells, 1)])
    output.line()
    output.summary(result)
    return 1 if result.failed else 0
