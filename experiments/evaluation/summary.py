"""The figures of each ranker over all cases, with how sure they are."""

from __future__ import annotations

import numpy as np
import pandas as pd

from .contenders import SHUFFLE
from .metrics import BEST_OF_KS

RESAMPLES = 2000
CONFIDENCE = 0.95


def summarise(results: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """The figures of each ranker, the one with the fewest iterations first.

    Args:
        results: as `evaluate` gives them.
        seed: of the resampling.

    Returns:
        A row per ranker, with columns:

        * `iterations_geomean`: to within 5 % of the best, over cases and seeds; also to 1 % and
          10 %, as `iterations_1_geomean` and `iterations_10_geomean`.
        * `fewer_than_shuffle`: the geometric mean of what random order takes over what it takes; of
          random order as the expectation of the logarithm, so that any random order comes to 1.
        * `fewer_than_mean_shuffle`: the same against the mean that random order takes, as others
          report it; any random order comes to more than 1, for the logarithm of a mean is more
          than the mean of logarithms.
        * `worst_ratio_to_shuffle`: the most that it takes, on any case, of what random order takes
          on average.
        * `win_rate`: the share of cases on which it takes the fewest; ties are shared.
        * `best_of_<k>_median` and `best_of_<k>_worst`, of all cases and seeds.
        * `score`: the mean performance score.
        * `seconds`: the mean cost until the first near-optimal candidate, over the cases of which
          all costs are known; NaN if there are none.
        * `size_bytes`: of the largest file that any fold made; 0 if it does not learn.
        * `train_s`, `rank_s`: the mean time to train on a fold and to order a case.

        Those with `_low` and `_high` beside them have a 95 % confidence interval, from resampling
        what was left out (problems or devices) and seeds; NaN where only one was left out.
    """
    # Seconds that one ranker needs and another does not are unknown for both.
    unknown = results.loc[(results.ranker == SHUFFLE) & results.seconds.isna(), "case"]
    results = results.assign(
        log_fewer=results.expected_log - results.log_iterations_5,
        seconds=results.seconds.mask(results.case.isin(unknown)),
    )
    rows = {name: _figures(group, seed) for name, group in results.groupby("ranker", sort=False)}
    summary = pd.DataFrame.from_dict(rows, orient="index").rename_axis("ranker")
    summary["win_rate"] = _win_rates(results)
    return summary.sort_values("iterations_geomean", kind="stable")


def by_case(results: pd.DataFrame) -> pd.DataFrame:
    """Each case with how hard it is, and the iterations of each ranker, averaged over seeds."""
    columns = ["case", "problem", "device", "candidates", "difficulty"]
    cases = results[columns].drop_duplicates("case").set_index("case")
    return cases.join(_iterations(results).add_prefix("iterations_"))


def _figures(group: pd.DataFrame, seed: int) -> dict[str, float]:
    """A ranker's row, from its results."""
    low, high = np.exp(_interval(group, "log_iterations_5", seed))
    fewer_low, fewer_high = np.exp(_interval(group, "log_fewer", seed))
    score_low, score_high = _interval(group, "score", seed)
    ratio = (group.iterations_5 / group.expected).groupby(group.case).mean()
    figures = {
        "iterations_geomean": np.exp(group.log_iterations_5.mean()),
        "iterations_geomean_low": low,
        "iterations_geomean_high": high,
        "fewer_than_shuffle": np.exp(group.log_fewer.mean()),
        "fewer_than_shuffle_low": fewer_low,
        "fewer_than_shuffle_high": fewer_high,
        "fewer_than_mean_shuffle": np.exp((np.log(group.expected) - group.log_iterations_5).mean()),
        "worst_ratio_to_shuffle": ratio.max(),
        "score": group.score.mean(),
        "score_low": score_low,
        "score_high": score_high,
    }
    for column in ("iterations_1", "iterations_10"):
        figures[f"{column}_geomean"] = np.exp(group[f"log_{column}"].mean())
    for k in BEST_OF_KS:
        figures[f"best_of_{k}_median"] = group[f"best_of_{k}"].median()
        figures[f"best_of_{k}_worst"] = group[f"best_of_{k}"].min()
    figures["seconds"] = group.seconds.mean()
    figures["size_bytes"] = group.size_bytes.max()
    figures["train_s"] = group.groupby(["left_out", "seed"]).train_s.first().mean()
    figures["rank_s"] = group.rank_s.mean()
    return {name: float(value) for name, value in figures.items()}


def _interval(group: pd.DataFrame, column: str, seed: int) -> tuple[float, float]:
    """Confidence limits of the mean of a column over cases and seeds.

    What was left out together is drawn together, as such cases are alike; and for each, seeds.
    """
    table = group.pivot_table(column, "left_out", "seed", "mean")
    if len(table) < 2:
        return np.nan, np.nan
    sizes = group.groupby("left_out").case.nunique().to_numpy()
    rng = np.random.default_rng(seed)
    folds = rng.integers(len(table), size=(RESAMPLES, len(table)))
    seeds = rng.integers(table.shape[1], size=(*folds.shape, table.shape[1]))
    means = table.to_numpy()[folds[..., None], seeds].mean(axis=-1)
    drawn = np.average(means, axis=1, weights=sizes[folds])
    low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def _win_rates(results: pd.DataFrame) -> pd.Series:
    iterations = _iterations(results)
    best = iterations.eq(iterations.min(axis=1), axis=0)
    return best.div(best.sum(axis=1), axis=0).mean()


def _iterations(results: pd.DataFrame) -> pd.DataFrame:
    return results.pivot_table("iterations_5", "case", "ranker", "mean", sort=False)
