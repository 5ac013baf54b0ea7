"""`frontrunner calibrate`: a predictor of this machine's own, in minutes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .choices import FOLDER, device_option_of, jobs_option
from .completing import complete_targets
from .files import check_new_file, check_writable
from .output import GOES_ON, Interrupted, Output, shared_options


@click.command("calibrate")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="Write the predictor here; one that is there is replaced, but no other file.",
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    metavar="M",
    help="Record for so long; at least one dispatch is tried.",
)
@click.option(
    "--recordings",
    type=FOLDER,
    metavar="DIR",
    help="Where recordings are kept, and added to [FILE with the ending .recordings].",
)
@device_option_of(
    "Measure on this device, local-task or local-sync; may be repeated [local-task].",
)
@click.option(
    "--target",
    default="host",
    show_default=True,
    metavar="NAME",
    shell_complete=complete_targets,
    help="Calibrate for this CPU (host), or for one by name.",
)
@jobs_option
@shared_options(seed="Seeds candidates, orders of measurements, and training.")
def command(
    out: Path, minutes: float, recordings: Path | None, as_json: bool, **options: Any
) -> None:
    """Record small dispatches on this CPU for minutes, and train a predictor for it.

    Tells how well it orders what it was not trained on, beside the order that ships; `tune
    --ranker FILE` uses it. The same command goes on where it was interrupted, and adds to what is
    recorded. Leave the machine alone meanwhile.
    """
    check_new_file(out, "--out")
    if recordings is not None:
        check_writable(recordings, "--recordings")

    from ..experiments.calibrating import calibrate

    try:
        result = calibrate(out, minutes=minutes, recordings=recordings, **options)
    except KeyboardInterrupt:
        raise Interrupted(GOES_ON) from None
    Output(as_json).summary(result)
