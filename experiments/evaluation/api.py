"""`frontrunner.evaluate`, which the command `evaluate` calls."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

from ... import __version__
from ...benchmarks.cluster import Cluster, open_cluster
from ...core import RUNS_FOLDER, InputError, Notify, WorkError
from ..arguments import as_list, check_least, optional_path
from ..interrupted import RunInterrupted
from ..learning import Files, cases_digest, paths_of, read_cases
from ..observing import Tracker, make_notify, progress_bar
from .contenders import find_contenders, usual_rankers
from .cross_validation import cross_validate
from .finished import FinishedParts
from .holdout import PROBLEM, make_folds
from .notes import contender_notes
from .report import Report, track_report, write_report

SEEDS = 5
# Logging 180 runs with their curves took 28 s on a busy machine.
TRACKING_SECONDS = 300.0


class ReportNotWritten(WorkError):
    """An evaluation is done, and cannot be kept.

    Attributes:
        report: its figures.
    """

    def __init__(self, error: WorkError, report: Report, beside: Path) -> None:
        kept = f"another folder in {beside}, where finished parts are kept"
        super().__init__(str(error), f"make room, or name {kept}")
        self.report = report


class EvaluationInterrupted(RunInterrupted):
    """Ctrl-C, after an evaluation was written.

    Attributes:
        report: its figures.
    """

    def __init__(self, report: Report) -> None:
        super().__init__(report.out)
        self.report = report


def evaluate(
    recordings: Files,
    *,
    columns: str | os.PathLike[str] | None = None,
    rankers: Sequence[str] = (),
    holdout: str = PROBLEM,
    folds: int | None = None,
    seeds: int = SEEDS,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    mlflow: bool = True,
    quiet: bool = False,
) -> Report:
    """Compares rankers on recordings, each judged on what it was not trained on.

    Recordings are replayed through the loop that tuning uses: a ranker's figure is how many
    candidates it takes until the first near-optimal one. Random order is there as its exact
    expectation. Parts that are done are kept until all is written: where it was ended early, the
    same call goes on.

    Example:
        >>> report = frontrunner.evaluate("recordings", rankers=["heuristic", "forest:trees=30"])
        >>> report.summary["iterations_geomean"]

    Args:
        recordings: a file or a folder, or several of them.
        columns: a file in TOML that says what columns of tables (CSV) are.
        rankers: names from `frontrunner rankers`, with parameters or not, or files of trained ones;
            by default those that can order all recordings.
        holdout: what is left out of the training in turn: `problem`, with its twins and whatever is
            fused to it, `family` (of problems, such as all convolutions) or `device`.
        folds: in how many parts; by default each on its own.
        seeds: with how many seeds to train and judge rankers that depend on one.
        seed: the first of them; also that of the confidence intervals.
        out: a new folder for tables, plots and trained rankers; by default the next free
            `runs/evaluation-<n>`.
        jobs: in how many processes to train and replay; by default one per core.
        cluster: the address of a Dask scheduler whose workers train and replay, by joblib's Dask
            backend, in place of this machine.
        mlflow: whether to track it in MLflow.
        quiet: whether to show no progress and no warnings on stderr.

    Raises:
        InputError: something given cannot be used.
        ReportNotWritten: the folder cannot be written; the error has the figures.
        EvaluationInterrupted: Ctrl-C while it was tracked; the figures are kept.
    """
    notify = make_notify(quiet=quiet)
    if cluster is not None and jobs is not None:
        raise InputError(
            f"{jobs} processes are asked for, and a cluster, whose workers have a number of cores",
            "give jobs or a cluster",
        )
    check_least("seeds", seeds, 1)
    check_least("seed", seed, 0)
    check_least("folds", folds, 2)
    contenders = find_contenders(*as_list(rankers)) if rankers else []
    with progress_bar("reading recordings", quiet=quiet) as progress:
        cases = read_cases(paths_of(recordings), optional_path(columns), progress)
    parts = make_folds(cases, holdout, folds)
    contenders = contenders or find_contenders(usual_rankers(cases, parts))
    notes = list(contender_notes(contenders, cases, parts))
    for note in notes:  # before the work, which takes minutes
        notify(f"warning: {note}")
    asked = {
        "rankers": ",".join(c.name for c in contenders),
        "holdout": holdout,
        "folds": folds,
        "seeds": seeds,
        "seed": seed,
        "recordings": len(cases),
        "data": cases_digest(cases),
        "frontrunner": __version__,
    }
    folder = optional_path(out)
    beside = RUNS_FOLDER if folder is None else folder.parent
    finished = FinishedParts(beside, asked, contenders, cases)
    report = None
    try:
        with Tracker(notify, timeout_s=TRACKING_SECONDS) as tracker:
            if mlflow:
                tracker.start("evaluation", asked, {"mode": "evaluate"})
            with (
                _opened(cluster, notify) as opened,
                progress_bar("training and replaying", quiet=quiet) as progress,
            ):
                evaluation = cross_validate(
                    cases,
                    contenders,
                    holdout,
                    n_folds=folds,
                    seeds=range(seed, seed + seeds),
                    jobs=jobs,
                    cluster=opened,
                    finished=finished,
                    progress=progress,
                )
            tracker.prepare()
            report = Report.of(evaluation, asked, holdout=holdout, seed=seed, notes=notes)
            report = _write(report, folder, beside, notify)
            finished.remove()
            track_report(report, tracker)
    except KeyboardInterrupt:  # also while the tracker writes, which it does at the end
        if report is None or report.out is None:
            kept = finished.folder if finished.folder.is_dir() else None
            raise RunInterrupted(kept) from None
        raise EvaluationInterrupted(report) from None
    return report


def _opened(address: str | None, notify: Notify) -> AbstractContextManager[Cluster | None]:
    """A cluster of whatever devices, since nothing is measured."""
    return nullcontext() if address is None else open_cluster(address, (), (), notify)


def _write(report: Report, out: Path | None, beside: Path, notify: Notify) -> Report:
    """The report with its folder, after warning of pictures that cannot be drawn.

    Args:
        beside: where finished parts are.
    """
    try:
        folder, missing = write_report(report, out)
    except WorkError as error:
        raise ReportNotWritten(error, report, beside) from error
    for text in missing:
        notify(f"warning: {text}")
    return replace(report, out=folder)
