"""`frontrunner evaluate`: which order finds a near-optimal candidate soonest, on recordings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .choices import FOLDER, columns_option, recordings_argument
from .completing import complete_rankers
from .files import check_out
from .output import Interrupted, Output, interrupted_parts, shared_options
from .pages import page_line, tracked_page
from .tables import known

if TYPE_CHECKING:
    import pandas as pd

    from ..experiments.evaluation import Report

NOTHING_SAVED = "nothing is saved; --folds, or fewer rankers or --seeds, take less time"


@click.command("evaluate")
@recordings_argument
@columns_option
@click.option(
    "--rankers",
    multiple=True,
    metavar="A,B,...",
    shell_complete=complete_rankers,
    help="Names from `frontrunner rankers`, with parameters (`forest:trees=30:min_leaf=9`) or not, "
    "or files of trained ones; may be repeated; shuffle is always there [heuristic, cpu, "
    "forest, lightgbm and adaptive, of which those that can order all recordings].",
)
@click.option(
    "--holdout",
    type=click.Choice(["problem", "family", "device"]),
    default="problem",
    show_default=True,
    help="What is left out of the training in turn, to be judged on: a problem, however it is "
    "written or fused, a family of problems, or a device.",
)
@click.option(
    "--folds",
    type=click.IntRange(min=2),
    metavar="N",
    help="Leave out N groups in turn, to train less often [one at a time].",
)
@click.option(
    "--out",
    type=FOLDER,
    metavar="DIR",
    help="Where to write tables, plots and trained rankers [runs/evaluation-<n>].",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    metavar="N",
    help="Train and judge rankers that depend on a seed with N of them.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Train and replay in N processes [one per core]; not with --cluster.",
)
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Train and replay on the workers of this Dask scheduler [this machine].",
)
@click.option("--mlflow/--no-mlflow", default=True, show_default=True, help="Track it in MLflow.")
@click.option("--verbose", is_flag=True, help="Show how hard each recording is, too.")
@shared_options(seed="The first seed of the rankers; also seeds the confidence intervals.")
def command(
    recordings: tuple[Path, ...], out: Path | None, verbose: bool, as_json: bool, **options: Any
) -> None:
    """Compare orders on recordings, each judged on what it was not trained on.

    RECORDINGS are files, or folders of them. Random order is given as its exact expectation.
    """
    check_out(out, "name a new folder")

    from ..experiments.evaluation import EvaluationInterrupted, ReportNotWritten, evaluate

    output = Output(as_json)
    try:
        with tracked_page(output) as page:
            report = evaluate(recordings, out=out, **options)
    except EvaluationInterrupted as interrupt:
        _show(output, interrupt.report, verbose, page.made)
        raise Interrupted(f"the results are in {interrupt.kept}") from None
    except ReportNotWritten as error:
        _show(output, error.report, verbose)  # figures that cannot be kept are still shown
        raise
    except KeyboardInterrupt as interrupt:
        raise interrupted_parts(interrupt, NOTHING_SAVED) from None
    if report.out is None:
        _show(output, report, verbose)
        return
    _show(output, report, verbose, page.ensure(report.out))
    page.end(report.out)


def _show(output: Output, report: Report, verbose: bool, page: Path | None = None) -> None:
    """Shows the figures, and where they are if that is somewhere, as a page, too."""
    if report.out is not None:
        output.result({**report.to_dict(), "out": report.out, "report": page})
    _show_rankers(output, report.summary)
    for note in report.notes:
        output.line(note)
    if verbose:
        output.line()
        _show_cases(output, report.cases)
    if report.out is not None:
        output.line()
        output.line(f"written to {report.out}")
    if page is not None:
        output.line(page_line(page))


def _show_rankers(output: Output, summary: pd.DataFrame) -> None:
    """A row per ranker.

    Candidates are those that are taken until the first within 5 % of the best, of the first is how
    many times as many it takes as the first ranker, case by case, the worst ratio is that of the
    recording where shuffle needs least in comparison, skipped are those, in the median and at most,
    that were never measured and that `tune` would take before it, and specs are the share of
    recordings where the best of 64 beats the default by more than 5 %.
    """
    output.table(
        [
            "ranker",
            "#candidates",
            "#fewer than shuffle",
            "#(95 %)",
            "#of first (95 %)",
            "#worst ratio",
            "#skipped",
            "#wins",
            "#regret of 16",
            "#worst regret",
            "#specs",
            "#score",
            "#tuning s",
            "#size kB",
            "#training s",
            "#ranking ms",
        ],
        [
            [
                name,
                known("{:.1f}", row.iterations_geomean),
                known("{:.1f}x", row.fewer_than_shuffle),
                known("{:.1f}-{:.1f}", row.fewer_than_shuffle_low, row.fewer_than_shuffle_high),
                known("{:.2f}x ({:.2f}-{:.2f})", row.of_first, row.of_first_low, row.of_first_high),
                known("{:.2f}x", row.worst_ratio_to_shuffle),
                known("{:.0f}, {:.0f}", row.skipped_median, row.skipped_worst),
                known("{:.0%}", row.win_rate),
                f"{row.regret_16_median:.1%}",
                f"{row.regret_16_worst:.1%}",
                known("{:.0%}", row.spec_share),
                known("{:.2f}", row.score),
                known("{:.1f}", row.seconds),
                f"{row.size_bytes / 1000:.1f}",
                f"{row.train_s:.2f}",
                f"{row.rank_s * 1000:.1f}",
            ]
            for name, row in summary.iterrows()
        ],
    )


def _show_cases(output: Output, cases: pd.DataFrame) -> None:
    """A row per recording, the hardest first."""
    rankers = [c for c in cases.columns if c.startswith("iterations_")]
    output.table(
        ["recording", "#candidates", "#near-optimal"]
        + [f"#{name.removeprefix('iterations_')}" for name in rankers],
        [
            [
                name,
                row.candidates,
                "the default wins" if row.default_wins else f"{row.difficulty:.2%}",
                *(f"{row[r]:.1f}" for r in rankers),
            ]
            for name, row in cases.sort_values("difficulty").iterrows()
        ],
    )
