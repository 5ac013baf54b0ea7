"""`frontrunner insights`: what winners have in common against the compiler's choices."""

from __future__ import annotations

from pathlib import Path

import click

from .choices import FOLDER, recordings_argument
from .files import check_writable
from .output import Output, shared_options


@click.command("insights")
@recordings_argument
@click.option(
    "--out",
    type=FOLDER,
    metavar="DIR",
    help="Write a picture of each device here.",
)
@shared_options(seed="Seeds what is resampled for intervals.")
def command(recordings: tuple[Path, ...], out: Path | None, seed: int, as_json: bool) -> None:
    """Tell what the best configurations have in common, for those who write heuristics.

    Of each recording, the best candidate is compared with the compiler's default: tile sizes and
    the like, how often they differ in the same direction, and how much slower the best candidates
    are that keep to the default's.
    """
    if out is not None:
        check_writable(out, "--out")

    from ..experiments.insights import insights

    Output(as_json).summary(insights(recordings, out=out, seed=seed))
