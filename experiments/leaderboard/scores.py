"""The figures of each contender over all spaces, and of each against each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..evaluation import Bootstrap

# Where so few are within 5 % of the best, what finds one is luck: within 10 % is asked for.
FEW = 2
LEVELS, REGRETS = (1, 5, 10), (8, 16, 64)
SPACE = "case"


def with_main_figure(results: pd.DataFrame) -> pd.DataFrame:
    """Results with `level`, the percent of the best that is asked for, and `log_taken`, until
    then."""
    level = np.where(results["near"] <= FEW, 10, 5)
    taken = np.where(level == 10, results["log_iterations_10"], results["log_iterations_5"])
    return results.assign(level=level, log_taken=taken)


def score_table(results: pd.DataFrame, seed: int) -> pd.DataFrame:
    """A row per contender, the one that takes the fewest candidates first.

    Args:
        results: of a cross-validation, by `with_main_figure`.
        seed: of the resampling, over spaces, and over seeds within each.
    """
    found = results[~results["default_wins"]]
    rows: dict[str, dict[str, float]] = {}
    for name, group in found.groupby("ranker", sort=False):
        drawn = Bootstrap.of(group, [SPACE, "seed"], seed)
        low, high = np.exp(drawn.of_mean("log_taken"))
        row = {"taken": float(np.exp(group["log_taken"].mean())), "low": low, "high": high}
        for level in LEVELS:
            row[f"to_{level}"] = float(np.exp(group[f"log_iterations_{level}"].mean()))
        everywhere = results[results["ranker"] == name]
        for k in REGRETS:
            row[f"regret_{k}"] = float(everywhere[f"regret_{k}"].median())
        for score in ("score", "score_time"):
            ends = Bootstrap.of(group.dropna(subset=score), [SPACE, "seed"], seed).of_mean(score)
            row |= {
                score: float(group[score].mean()),
                f"{score}_low": ends[0],
                f"{score}_high": ends[1],
            }
        row["spaces"] = group[SPACE].nunique()
        row["own_s"] = float((group["rank_s"] + group["train_s"]).mean())
        rows[str(name)] = row
    table = pd.DataFrame.from_dict(rows, orient="index", dtype=float).rename_axis("ranker")
    return table.sort_values("taken", kind="stable")


def pair_table(results: pd.DataFrame, seed: int) -> pd.DataFrame:
    """How many times as many candidates each contender takes as each other one.

    Both are compared on each space, in the mean over their seeds, and spaces are resampled: what is
    hard for all says nothing.

    Returns:
        A row per ordered pair: `ranker`, `other`, `ratio` (of the first to the second), and its
        95 % interval `low`, `high`.
    """
    found = results[~results["default_wins"]]
    means = found.pivot_table("log_taken", SPACE, "ranker", "mean", sort=False)
    rows: list[dict[str, Any]] = []
    for one in means:
        for other in means:
            both = (means[one] - means[other]).dropna()
            if one == other or both.empty:
                continue
            table = pd.DataFrame({SPACE: both.index, "apart": both.to_numpy()})
            low, high = np.exp(Bootstrap.of(table, [SPACE], seed).of_mean("apart"))
            ratio = float(np.exp(both.mean()))
            rows.append({"ranker": one, "other": other, "ratio": ratio, "low": low, "high": high})
    return pd.DataFrame(rows, columns=["ranker", "other", "ratio", "low", "high"])


def space_table(results: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """A row per space: what it is, and what each contender takes on it, over seeds."""
    about = ["problem", "device", "candidates", "near", "level", "default_wins", "left_out"]
    spaces = results.drop_duplicates(SPACE).set_index(SPACE)[about]
    taken = results.pivot_table("log_taken", SPACE, "ranker", "mean", sort=False).map(np.exp)
    return spaces.join(taken[[name for name in names if name in taken]])
