"""`frontrunner leaderboard`: our orders and other people's searches on a folder of data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .choices import FOLDER, columns_option
from .files import check_out
from .output import Output, interrupted_parts, shared_options
from .pages import TrackedPage, page_line
from .tables import known

if TYPE_CHECKING:
    from ..experiments.leaderboard import Leaderboard

NOTHING_KEPT = "nothing is saved; fewer --rankers or --seeds take less time"


@click.command("leaderboard")
@click.argument(
    "folders",
    metavar="FOLDER...",
    type=click.Path(exists=True, path_type=Path),
    nargs=-1,
    required=True,
)
@click.option(
    "--rankers",
    multiple=True,
    metavar="A,B,...",
    help="Names from `frontrunner rankers`, with parameters or not, files of trained ones, or "
    "other people's searches (kt_genetic, lfbo, ...); may be repeated; shuffle is always there "
    "[ours, plug-ins, and all others whose libraries are installed].",
)
@columns_option
@click.option(
    "--synthetic/--no-synthetic",
    default=True,
    show_default=True,
    help="Add synthetic spaces whose best candidate is known.",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    metavar="N",
    help="Run those that depend on a seed with N of them.",
)
@click.option(
    "--out",
    type=FOLDER,
    metavar="DIR",
    help="Where to write the page, tables and figures [runs/leaderboard-<n>].",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Train and replay in N processes [one per core].",
)
@shared_options(seed="The first seed; also of the synthetic spaces and the confidence intervals.")
def command(folders: tuple[Path, ...], out: Path | None, as_json: bool, **options: Any) -> None:
    """Compare our orders with other people's searches on a folder of data.

    FOLDER holds recordings, T4 results, Kernel Tuner caches or tables. Rankers learn
    nothing of the device that they order for; where a kernel was measured on one alone, nothing of
    the problem. Finished parts are kept until all is written: the same command goes on.
    """
    check_out(out, "name a new folder")

    from ..experiments.leaderboard import BoardNotWritten, leaderboard

    output = Output(as_json)
    try:
        board = leaderboard(folders, out=out, **options)
    except KeyboardInterrupt as interrupt:
        raise interrupted_parts(interrupt, NOTHING_KEPT) from None
    except BoardNotWritten as error:
        _show_figures(output, error.board)
        raise
    _show(output, board)


def _show(output: Output, board: Leaderboard) -> None:
    assert board.out is not None, "it was written"
    page = TrackedPage(output)
    made = page(board.out)
    output.result({**board.to_dict(), "out": board.out, "report": made})
    _show_figures(output, board)
    output.line()
    output.line(f"written to {board.out}")
    if made is not None:
        output.line(page_line(made))
    page.end(board.out)


def _show_figures(output: Output, board: Leaderboard) -> None:
    output.table(
        ["ranker", "given", "#candidates", "#(95 %)", "#to 10 %", "#regret of 16", "#score"],
        [
            [
                name,
                board.given[str(name)],
                known("{:.1f}", row.taken),
                known("{:.1f}-{:.1f}", row.low, row.high),
                known("{:.1f}", row.to_10),
                known("{:.1%}", row.regret_16),
                known("{:.2f}", row.score),
            ]
            for name, row in board.scores.iterrows()
        ],
    )
    for note in board.notes:
        output.line(note)
