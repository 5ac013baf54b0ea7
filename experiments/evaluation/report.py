"""What an evaluation leaves: a folder, and runs and models in MLflow.

| file | holds |
| --- | --- |
| `evaluation.json` | what was asked for, and the figures of each ranker and case |
| `summary.csv`, `.parquet` | a row per ranker |
| `cases.csv`, `.parquet` | a row per recording: how hard it is, what each ranker took |
| `results.csv`, `.parquet` | a row per ranker, recording and seed |
| `curves.csv`, `.parquet` | the best so far, as a share of the optimum, in the same rows |
| `plots/*.png` | pictures |
| `predictors/*.predictor` | rankers trained on all recordings |
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pandas as pd

from ...core import make_output_folder
from ..arguments import unwritable_results
from ..observing import Tracker
from ..readable import Readable, lines_html
from .cross_validation import Evaluation
from .holdout import PROBLEM
from .notes import count_data, data_notes
from .plots import plots
from .summary import by_case, summarise

KEYS = ["ranker", "case", "seed"]
PREDICTOR = ".predictor"
# Columns of `summary` that are shown first.
SHOWN = ["iterations_geomean", "fewer_than_shuffle", "worst_ratio_to_shuffle", "regret_16_median"]


@dataclass(frozen=True, eq=False, repr=False)
class Report(Readable):
    """An evaluation, summed up.

    Attributes:
        asked: how it was made, for `evaluation.json` and MLflow.
        summary: a row per ranker, the one with the fewest iterations first; see `summarise`.
        cases: a row per recording, with the iterations of each ranker.
        notes: what has to be known beside the figures, a sentence each.
        out: the folder that it was written to; None before.
    """

    asked: Mapping[str, Any]
    evaluation: Evaluation
    summary: pd.DataFrame
    cases: pd.DataFrame
    notes: tuple[str, ...] = ()
    out: Path | None = None

    @classmethod
    def of(
        cls,
        evaluation: Evaluation,
        asked: Mapping[str, Any],
        *,
        holdout: str = PROBLEM,
        seed: int = 0,
        notes: Iterable[str] = (),
    ) -> Self:
        """Sums up.

        Args:
            holdout: what was left out.
            seed: of the confidence intervals.
            notes: what has to be known of the rankers.
        """
        results = evaluation.results
        notes = (*data_notes(results, holdout), *notes)
        return cls(asked, evaluation, summarise(results, holdout, seed), by_case(results), notes)

    def summary_lines(self) -> list[str]:
        """The main figures of each ranker, what to know beside them, and where the rest is."""
        table = self.summary[SHOWN].round(2).to_string()
        return [*table.splitlines(), *self._lines()]

    def _repr_html_(self) -> str:
        table = self.summary[SHOWN].round(2).to_html()
        return table + lines_html(self._lines())

    def _lines(self) -> list[str]:
        """What to know beside the figures, and where the rest is."""
        return [*self.notes, *([] if self.out is None else [f"written to {self.out}"])]

    def to_dict(self) -> dict[str, Any]:
        """All figures, as JSON has them: what is not known is None."""
        tables = {"rankers": self.summary, "cases": self.cases}
        told = {name: json.loads(table.to_json(orient="index")) for name, table in tables.items()}
        counts = count_data(self.evaluation.results)
        return {**self.asked, **counts, "notes": list(self.notes), **told}


def write_report(report: Report, out: Path | None) -> tuple[Path, list[str]]:
    """Makes the folder: all files appear at once, or none.

    Args:
        out: a new or empty one; the next free `runs/evaluation-<n>` if None.

    Returns:
        Where it is, and what could not be drawn, a line each: tables are worth more than pictures.

    Raises:
        WorkError: it cannot be written, or is not empty.
    """
    missing: list[str] = []
    try:
        return make_output_folder(
            out, "evaluation", lambda new: missing.extend(_fill(new, report))
        ), missing
    except OSError as error:
        raise unwritable_results(out, error) from error


def _fill(folder: Path, report: Report) -> list[str]:
    """Writes all files; tells what could not be drawn."""
    evaluation = report.evaluation
    tables = {
        "summary": report.summary.reset_index(),
        "cases": report.cases.reset_index(),
        "results": evaluation.results,
        "curves": evaluation.results[KEYS].join(evaluation.curves.add_prefix("best_of_")),
    }
    missing = []
    for name in ("plots", "predictors"):
        (folder / name).mkdir()
    (folder / "evaluation.json").write_text(json.dumps(report.to_dict(), indent=2) + "\n")
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
        # In memory, for Arrow takes no path that is in no encoding.
        (folder / f"{name}.parquet").write_bytes(table.to_parquet(index=False))
    for name, draw in plots(evaluation, report.summary):
        try:
            draw().savefig(folder / "plots" / f"{name}.png", dpi=150)
        except OSError:
            raise
        except Exception as error:  # a library that meets names and figures of all kinds
            missing.append(f"{name}.png cannot be drawn: {type(error).__name__}: {error}")
    for name, predictor in evaluation.predictors.items():
        _predictor(folder, name).write_bytes(predictor.data)
    return missing


def track_report(report: Report, tracker: Tracker) -> None:
    """Tracks what was written: figures, files, and below it a run for each ranker.

    A ranker's run has its figures, its mean curve by candidates, and how many it took of each
    recording. Predictors are files of it: `train` registers models, where that is asked for.
    """
    folder = report.out
    assert folder is not None, "it is written first"
    tracker.rename(folder.absolute().name)
    evaluation, results = report.evaluation, report.evaluation.results
    for figure, values in report.summary.items():
        for ranker, value in values.items():
            tracker.log_metric(f"{figure}/{_plain(ranker)}", value)
    for path in sorted(folder.rglob("*.*")):
        tracker.log_artifact(path)
    tracker.log_page(folder)
    for ranker, rows in results.groupby("ranker", sort=False):
        figures = _named(report.summary.loc[[str(ranker)]].iloc[0])
        took = rows.groupby("case", sort=False)["iterations_5"].mean()
        figures |= {f"candidates_to_near_optimal/{_plain(case)}": n for case, n in took.items()}
        curve = evaluation.curves.loc[rows.index].mean().to_list()
        tracker.log_child_run(
            str(ranker), {"ranker": ranker}, figures | {"best_so_far": curve}, {"mode": "ranker"}
        )


def _predictor(folder: Path, ranker: str) -> Path:
    return folder / "predictors" / f"{_plain(ranker)}{PREDICTOR}"


def _named(values: pd.Series) -> dict[str, Any]:
    return {str(name): value for name, value in values.items()}


def _plain(name: object) -> str:
    """What MLflow takes as a part of any name, of a model most strictly; a ranker can be a path,
    or have parameters."""
    return re.sub(r"[^\w-]", "_", str(name))
