"""`frontrunner report`: a page for a browser about what commands have left."""

from __future__ import annotations

from pathlib import Path

import click

from .output import Output, shared_options
from .pages import check_page


@click.command("report")
@click.argument(
    "folders",
    metavar="DIR...",
    type=click.Path(exists=True, path_type=Path),
    nargs=-1,
    required=True,
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE.html",
    help="The page [report.html in the folder, NAME.html beside a file; report.html here, if "
    "several are given].",
)
@shared_options(seed="Seeds what is drawn at random where there is too much to show.")
def command(folders: tuple[Path, ...], out: Path | None, seed: int, as_json: bool) -> None:
    """Write a page for a browser: one file, which needs no network.

    DIR is the folder of a tuning run, of a model's tuning, of a profile, an evaluation or a
    leaderboard, a recording, or a folder of recordings; several are compared. Nothing in them is
    compiled or run.
    """
    from ..experiments.reporting import report, usual_page

    check_page(out or usual_page(folders))
    Output(as_json).summary(report(folders, out=out, seed=seed))
