"""The figures of each contender over all spaces, and of each against each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..evaluation import Bootstrap, paired_ratio

# Where so few are within 5 % of the best, what finds one is luck: within 10 % is asked for.
FEW = 2
LEVELS, REGRETS = (1, 5, 10), (8, 16, 64)
SPACE = "case"
# What is resampled: spaces of one problem resemble each other.
LEVELS_OF_CHANCE = ("problem", "seed")


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
        seed: of the resampling, over problems, and over seeds within each.
    """
    rows: dict[str, dict[str, float]] = {}
    for name, everywhere in results.groupby("ranker", sort=False):
        group = everywhere[~everywhere["default_wins"]]
        drawn = Bootstrap.of(group, LEVELS_OF_CHANCE, seed)
        low, high = np.exp(drawn.of_mean("log_taken"))
        row = {"taken": float(np.exp(group["log_taken"].mean())), "low": low, "high": high}
        for level in LEVELS:
            row[f"to_{level}"] = float(np.exp(group[f"log_iterations_{level}"].mean()))
        for k in REGRETS:
            row[f"regret_{k}"] = float(everywhere[f"regret_{k}"].median())
        for score in ("score", "score_time"):
            ends = Bootstrap.of(group.dropna(subset=score), LEVELS_OF_CHANCE, seed).of_mean(score)
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

    Both are compared on each space, in the mean over their seeds, and problems are resampled: what
    is hard for all says nothing, and spaces of one problem resemble each other.

    Returns:
        A row per ordered pair: `ranker`, `other`, `ratio` (of the first to the second), and its
        95 % interval `low`, `high`.
    """
    found = results[~results["default_wins"]]
    means = found.pivot_table("log_taken", ["problem", SPACE], "ranker", "mean", sort=False)
    rows: list[dict[str, Any]] = []
    for one in means:
        for other in means:
            if one == other or (means[one].isna() | means[other].isna()).all():
                continue
            ratio, low, high = paired_ratio(means[one], means[other], ["problem"], seed)
            rows.append({"ranker": one, "other": other, "ratio": ratio, "low": low, "high": high})
    return pd.DataFrame(rows, columns=["ranker", "other", "ratio", "low", "high"])


def space_table(results: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """A row per space: what it is, and what each contender takes on it, over seeds."""
    about = ["problem", "device", "measured", "candidates", "near", "level"]
    about += ["default_wins", "left_out"]
    spaces = results.drop_duplicates(SPACE).set_index(SPACE)[about]
    taken = results.pivot_table("log_taken", SPACE, "ranker", "mean", sort=False).map(np.exp)
    return spaces.join(taken[[name for name in names if name in taken]])
