"""`frontrunner fuzz`: looks for failures of the compiler, and reduces them."""

from __future__ import annotations

from pathlib import Path

import click

from .choices import FILE, FOLDER, jobs_option
from .completing import complete_targets
from .files import check_out
from .output import Interrupted, Output, shared_options


@click.command("fuzz")
@click.argument(
    "dispatches",
    metavar="DISPATCH...",
    type=FILE,
    nargs=-1,
    required=True,
)
@click.option(
    "--minutes",
    type=float,
    default=10.0,
    show_default=True,
    metavar="M",
    help="Draw candidates for M minutes; what failed last is still reduced.",
)
@click.option(
    "--target",
    "targets",
    multiple=True,
    default=("host",),
    show_default=True,
    metavar="NAME",
    shell_complete=complete_targets,
    help="Compile for this machine (host), where candidates are run and verified, too, a named "
    "CPU, or a GPU, which need not be here: gfx942, sm_80, ...; may be repeated.",
)
@click.option(
    "--unpruned",
    is_flag=True,
    help="Draw also what would be slow, and what is known to fail.",
)
@click.option(
    "--out",
    type=FOLDER,
    metavar="DIR",
    help="Where to write [runs/fuzz-<n>].",
)
@jobs_option
@shared_options(seed="Seeds the candidates and the inputs of the kernels.")
def command(
    dispatches: tuple[Path, ...],
    minutes: float,
    targets: tuple[str, ...],
    unpruned: bool,
    out: Path | None,
    jobs: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Look for failures of the compiler, and reduce each to a small reproducer.

    Candidates are drawn at random, and compiled for each target. Each way to fail leaves a folder
    with a script that fails in the same way, of which sizes, fused ops and knobs were reduced.
    """
    check_out(out, "name a new folder")

    from ..experiments.compiler_fuzzing import fuzz

    output = Output(as_json)
    try:
        result = fuzz(
            dispatches,
            minutes=minutes,
            targets=targets,
            unpruned=unpruned,
            out=out,
            jobs=jobs,
            seed=seed,
        )
    except KeyboardInterrupt as interrupt:
        kept = getattr(interrupt, "kept", None)
        raise Interrupted(f"what was found is in {kept}" if kept else "") from None
    output.table(
        ["dispatch", "target", "#tried", "#failed", "#distinct", "note"],
        [
            (one.dispatch, one.target, one.tried, one.failed, one.distinct, one.note)
            for one in result.dispatches
        ],
    )
    output.summary(result)
