"""`frontrunner evaluate`: which order finds a near-optimal candidate soonest, on recordings."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .. import __version__
from .files import check_out
from .output import Interrupted, Output, shared_options

if TYPE_CHECKING:
    import pandas as pd

# Logging 180 runs with their curves took 28 s on a busy machine.
TRACKING_SECONDS = 300.0
NOTHING_SAVED = "nothing is saved; --folds, or fewer rankers or --seeds, take less time"


@click.command("evaluate")
@click.argument(
    "recordings",
    metavar="RECORDINGS...",
    type=click.Path(exists=True, path_type=Path),
    nargs=-1,
    required=True,
)
@click.option(
    "--rankers",
    multiple=True,
    metavar="A,B,...",
    help="Names from `frontrunner rankers`, with parameters (`forest:trees=30:min_leaf=9`) or not, "
    "or files of trained ones; may be repeated; shuffle is always there [those that can order all "
    "recordings].",
)
@click.option(
    "--holdout",
    type=click.Choice(["problem", "device"]),
    default="problem",
    show_default=True,
    help="What is left out of the training in turn, to be judged on.",
)
@click.option(
    "--folds",
    type=click.IntRange(min=2),
    metavar="N",
    help="Leave them out in N parts, which takes less training [each on its own].",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where to write tables, plots and trained rankers [runs/evaluation-<n>].",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Train and judge rankers that depend on a seed with N of them.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Train and replay in N processes [one per core].",
)
@click.option("--mlflow/--no-mlflow", default=True, show_default=True, help="Track it in MLflow.")
@click.option("--verbose", is_flag=True, help="Show how hard each recording is, too.")
@shared_options(seed="The first seed of the rankers; also seeds the confidence intervals.")
def command(
    recordings: tuple[Path, ...],
    rankers: tuple[str, ...],
    holdout: str,
    folds: int | None,
    out: Path | None,
    seeds: int,
    jobs: int | None,
    mlflow: bool,
    verbose: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Compare orders on recordings, each judged on what it was not trained on.

    RECORDINGS are files, or folders of them. Random order is given as its exact expectation.
    """
    check_out(out, "name a new folder")

    from ..experiments.evaluation import (
        Report,
        evaluate,
        find_contenders,
        track_report,
        usual_rankers,
        write_report,
    )
    from ..experiments.learning import digest, read_cases
    from ..experiments.observing import Tracker

    output = Output(as_json)
    contenders = find_contenders(*rankers) if rankers else []
    cases = read_cases(recordings)
    contenders = contenders or find_contenders(usual_rankers(cases))
    for contender in contenders:
        if warning := contender.elsewhere(cases):
            output.note(f"warning: {contender.name}: {warning}")
        if seen := contender.seen(cases):
            output.note(
                f"warning: {contender.name} was trained on {len(seen)} of these {len(cases)} "
                f"recordings, such as {seen[0]}: what it learned by heart flatters it"
            )
    asked = {
        "rankers": ",".join(c.name for c in contenders),
        "holdout": holdout,
        "folds": folds,
        "seeds": seeds,
        "seed": seed,
        "recordings": len(cases),
        "data": digest(cases),
        "frontrunner": __version__,
    }
    written = None
    try:
        with Tracker(output.note, timeout_s=TRACKING_SECONDS) as tracker:
            if mlflow:
                tracker.start("evaluation", asked, {"kind": "evaluation"})
            with _bar() as progress:
                evaluation = evaluate(
                    cases,
                    contenders,
                    holdout,
                    parts=folds,
                    seeds=range(seed, seed + seeds),
                    jobs=jobs,
                    progress=progress,
                )
            report = Report.of(evaluation, asked, seed)
            try:
                written, missing = write_report(report, out)
                tracker.rename(written.absolute().name)
                for text in missing:
                    output.note(f"warning: {text}")
                output.result({**report.to_dict(), "out": written})
            finally:
                # Figures that cannot be kept are still shown.
                _show_rankers(output, report.summary)
                if verbose:
                    output.line()
                    _show_cases(output, report.cases)
            output.line()
            output.line(f"written to {written}")
            track_report(report, written, tracker)
    except KeyboardInterrupt:
        raise Interrupted(f"the results are in {written}" if written else NOTHING_SAVED) from None


@contextmanager
def _bar() -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr, if a person is looking."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(
        console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()
    ) as bar:
        task = bar.add_task("training and replaying", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _show_rankers(output: Output, summary: pd.DataFrame) -> None:
    """A row per ranker; iterations are those to within 5 % of the best."""
    output.table(
        [
            "ranker",
            "#iterations",
            "#fewer than shuffle",
            "#(95 %)",
            "#at worst",
            "#wins",
            "#best of 16",
            "#at worst",
            "#score",
            "#tuning s",
            "#size kB",
            "#training s",
            "#ranking ms",
        ],
        [
            [
                name,
                f"{row.iterations_geomean:.1f}",
                f"{row.fewer_than_shuffle:.1f}x",
                _known("{:.1f}-{:.1f}", row.fewer_than_shuffle_low, row.fewer_than_shuffle_high),
                f"{row.worst_ratio_to_shuffle:.2f}x",
                f"{row.win_rate:.0%}",
                f"{row.best_of_16_median:.1%}",
                f"{row.best_of_16_worst:.1%}",
                f"{row.score:.2f}",
                _known("{:.1f}", row.seconds),
                f"{row.size_bytes / 1000:.1f}",
                f"{row.train_s:.2f}",
                f"{row.rank_s * 1000:.1f}",
            ]
            for name, row in summary.iterrows()
        ],
    )


def _known(text: str, *figures: float) -> str:
    return "-" if any(map(math.isnan, figures)) else text.format(*figures)


def _show_cases(output: Output, cases: pd.DataFrame) -> None:
    """A row per recording, the hardest first."""
    rankers = [c for c in cases.columns if c.startswith("iterations_")]
    output.table(
        ["recording", "#candidates", "#near-optimal"]
        + [f"#{name.removeprefix('iterations_')}" for name in rankers],
        [
            [name, row.candidates, f"{row.difficulty:.2%}", *(f"{row[r]:.1f}" for r in rankers)]
            for name, row in cases.sort_values("difficulty").iterrows()
        ],
    )
