"""An evaluation as its folder tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ....core import parse_json, read_limited, refusing_damage
from ...parquet import read_table, to_frame

FILE = "evaluation.json"
_WRITTEN = "give the folder that `frontrunner evaluate` wrote"
_CURVE = "best_of_"
# What the table of rankers shows: the column, its title, how it is written, and a factor.
COLUMNS = (
    ("iterations_geomean", "#candidates", ".1f", 1, ""),
    ("iterations_geomean_low", "#from", ".1f", 1, ""),
    ("iterations_geomean_high", "#to", ".1f", 1, ""),
    ("fewer_than_shuffle", "#fewer than random", ".1f", 1, "x"),
    ("fewer_than_shuffle_low", "#from", ".1f", 1, "x"),
    ("fewer_than_shuffle_high", "#to", ".1f", 1, "x"),
    ("of_first", "#of the first's", ".2f", 1, "x"),
    ("of_first_low", "#from", ".2f", 1, "x"),
    ("of_first_high", "#to", ".2f", 1, "x"),
    ("worst_ratio_to_shuffle", "#at worst", ".2f", 1, "x"),
    ("skipped_median", "#not recorded", ".0f", 1, ""),
    ("skipped_worst", "#at most", ".0f", 1, ""),
    ("win_rate", "#wins", ".0f", 100, " %"),
    ("regret_16_median", "#regret of 16", ".1f", 100, " %"),
    ("regret_16_worst", "#its worst", ".1f", 100, " %"),
    ("spec_share", "#specs", ".0f", 100, " %"),
    ("score", "#score", ".2f", 1, ""),
    ("size_bytes", "#size, kB", ".1f", 1e-3, ""),
    ("train_s", "#training, s", ".2f", 1, ""),
    ("rank_s", "#ranking, ms", ".1f", 1e3, ""),
)


@dataclass(frozen=True, eq=False)
class EvaluationTables:
    """What an evaluation left.

    Attributes:
        told: `evaluation.json`.
        rankers: a row per ranker, the best first.
        cases: a row per recording, with the iterations of each ranker.
        results: a row per ranker, recording and seed.
        curves: for the same rows, the best after so many candidates, as a share of the optimum.
    """

    told: Mapping[str, Any]
    rankers: pd.DataFrame
    cases: pd.DataFrame
    results: pd.DataFrame
    curves: pd.DataFrame

    @property
    def names(self) -> list[str]:
        return [str(name) for name in self.rankers.index]


def read_evaluation(folder: Path) -> EvaluationTables:
    """What is in an evaluation's folder.

    Raises:
        InputError: it is none, or damaged.
    """
    with refusing_damage(f"{folder} is not the folder of an evaluation", _WRITTEN):
        told = parse_json(read_limited(folder / FILE, _WRITTEN))
        rankers, cases = (
            pd.DataFrame.from_dict(told[name], orient="index") for name in ("rankers", "cases")
        )
        results, curves = (_table(folder / f"{name}.parquet") for name in ("results", "curves"))
        figures = [name for name, *_ in COLUMNS if name in rankers]
        rankers[figures] = rankers[figures].astype(np.float64)
        rankers = rankers.sort_values("iterations_geomean", kind="stable")
        shares = curves.filter(regex=f"^{_CURVE}[0-9]+$").astype(np.float64)
        shares.columns = [int(str(name).removeprefix(_CURVE)) for name in shares]
        same = list(results["ranker"]) == list(curves["ranker"])
        if not same or set(results["ranker"]) != set(rankers.index) or shares.empty:
            raise ValueError("its tables are of different rankers")
        counted = [str(c) for c in cases if c in ("candidates", "difficulty")]
        counted += [str(c) for c in cases if str(c).startswith("iterations_")]
        cases[counted] = cases[counted].astype(np.float64)
        needed = ["iterations_5", "expected"]
        results[needed] = results[needed].astype(np.float64)
    return EvaluationTables(told, rankers, cases, results, shares)


def _table(path: Path) -> pd.DataFrame:
    return to_frame(read_table(read_limited(path, _WRITTEN), str(path), _WRITTEN))
