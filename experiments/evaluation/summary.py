"""The figures of each ranker over all cases, with how sure they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from .contenders import SHUFFLE
from .holdout import PROBLEM
from .metrics import BEST_OF_KS
from .resampling import Bootstrap, Interval, paired_ratio, resampled_levels


def summarise(results: pd.DataFrame, holdout: str = PROBLEM, seed: int = 0) -> pd.DataFrame:
    """The figures of each ranker, the one with the fewest iterations first.

    Where the compiler's default is faster than every candidate there is nothing to be found, and
    who finds the best candidate has earned nothing: such cases are in the regrets and in
    `spec_share` only.

    Args:
        results: as `cross_validate` gives them.
        holdout: what was left out; it decides what is resampled, see `resampled_levels`.
        seed: of the resampling.

    Returns:
        A row per ranker, with columns:

        * `iterations_geomean`: to within 5 % of the best, over cases and seeds; also to 1 % and
          10 %, as `iterations_1_geomean` and `iterations_10_geomean`.
        * `fewer_than_shuffle`: the geometric mean of what random order takes over what it takes; of
          random order as the expectation of the logarithm, so that any random order comes to 1.
        * `of_first`: how many times as many candidates it takes as the first ranker, by geometric
          mean over the cases. Both are compared on each case, so that its interval tells whether
          they differ, where those of `iterations_geomean` mostly tell how cases do.
        * `worst_ratio_to_shuffle`: the most that it takes, on any case, of what random order takes
          on average.
        * `win_rate`: the share of cases on which it takes the fewest; ties are shared.
        * `best_of_<k>_median` and `best_of_<k>_worst`, of cases and seeds.
        * `regret_<k>_median` and `regret_<k>_worst`: how much slower than the best known one is who
          takes the best of the first k, or the default where that is faster, as a share. Of the
          worst there is no interval: no resample is worse than the worst that was seen.
        * `spec_share`: the share of cases where the best of the first 64 beats the default by more
          than 5 %; NaN if no default is known.
        * `skipped_median`, `skipped_worst`: how many candidates that were not measured stand before
          the first near-optimal one in the queue of `tune`; NaN where that is not known.
        * `score`: the mean performance score.
        * `seconds`: the mean cost until the first near-optimal candidate, over the cases of which
          all costs are known; NaN if there are none.
        * `size_bytes`: of the largest file that any fold made; 0 if it does not learn.
        * `train_s`, `rank_s`: the mean time to train on a fold and to order a case.

        Those with `_low` and `_high` beside them have a 95 % confidence interval, from resampling;
        NaN where there are fewer than three of what is resampled.
    """
    levels = resampled_levels(results, holdout)
    # Seconds that one ranker needs and another does not are unknown for both.
    unknown = results.loc[(results.ranker == SHUFFLE) & results.seconds.isna(), "case"]
    results = results.assign(
        log_fewer=results.expected_log - results.log_iterations_5,
        seconds=results.seconds.mask(results.case.isin(unknown)),
    )
    rows = {
        name: _search_figures(group[~group.default_wins], levels, seed)
        | _regret_figures(group, levels, seed)
        | _costs(group)
        for name, group in results.groupby("ranker", sort=False)
    }
    summary = pd.DataFrame.from_dict(rows, orient="index", dtype=float).rename_axis("ranker")
    summary = summary.astype({"size_bytes": "int64"})
    searched = results[~results.default_wins]
    summary["win_rate"] = _win_rates(searched)
    summary = summary.sort_values("iterations_geomean", kind="stable")
    return summary.join(_of_first(searched, str(summary.index[0]), levels, seed))


def by_case(results: pd.DataFrame) -> pd.DataFrame:
    """Each case with how hard it is, and the iterations of each ranker, averaged over seeds."""
    columns = ["case", "problem", "family", "device", "candidates", "difficulty", "default_wins"]
    cases = results[columns].drop_duplicates("case").set_index("case")
    return cases.join(_iterations(results).add_prefix("iterations_"))


def _search_figures(group: pd.DataFrame, levels: Sequence[str], seed: int) -> dict[str, float]:
    """How soon a ranker finds the best candidates, from its results."""
    drawn = Bootstrap.of(group, levels, seed)
    figures = {
        **_geomean("iterations_geomean", "log_iterations_5", drawn),
        **_geomean("fewer_than_shuffle", "log_fewer", drawn),
        "worst_ratio_to_shuffle": _worst_ratio(group),
        **_with_limits("score", group.score.mean(), drawn.of_mean("score")),
    }
    for column in ("iterations_1", "iterations_10"):
        figures[f"{column}_geomean"] = np.exp(group[f"log_{column}"].mean())
    for k in BEST_OF_KS:
        figures[f"best_of_{k}_median"] = group[f"best_of_{k}"].median()
        figures[f"best_of_{k}_worst"] = group[f"best_of_{k}"].min()
    figures["skipped_median"], figures["skipped_worst"] = (
        group.skipped.median(),
        group.skipped.max(),
    )
    figures["seconds"] = group.seconds.mean()
    return figures


def _of_first(results: pd.DataFrame, first: str, levels: Sequence[str], seed: int) -> pd.DataFrame:
    """Each ranker compared with one of them, case by case, in the mean over seeds."""
    index = [*(level for level in levels if level != "seed"), "case"]
    taken = results.pivot_table("log_iterations_5", index, "ranker", "mean", sort=False)
    rows = {n: paired_ratio(taken[n], taken[first], index[:-1], seed) for n in taken}
    return pd.DataFrame(rows, index=["of_first", "of_first_low", "of_first_high"]).T


def _regret_figures(group: pd.DataFrame, levels: Sequence[str], seed: int) -> dict[str, float]:
    """What a ranker's best candidates are worth beside the default, from its results."""
    drawn = Bootstrap.of(group, levels, seed)
    figures: dict[str, float] = {}
    for k in BEST_OF_KS:
        column = f"regret_{k}"
        middle = group[column].median()
        figures |= _with_limits(f"{column}_median", middle, drawn.of_median(column))
        figures[f"{column}_worst"] = group[column].max()
    known = Bootstrap.of(group.dropna(subset="spec"), levels, seed)
    return figures | _with_limits("spec_share", group.spec.mean(), known.of_mean("spec"))


def _costs(group: pd.DataFrame) -> dict[str, float]:
    return {
        "size_bytes": group.size_bytes.max(),
        # Kinds that are evaluated together have parts of one name, and each its own time.
        "train_s": group[["left_out", "seed", "train_s"]].drop_duplicates().train_s.mean(),
        "rank_s": group.rank_s.mean(),
    }


def _geomean(name: str, log_column: str, drawn: Bootstrap) -> dict[str, float]:
    low, high = drawn.of_mean(log_column)
    return _with_limits(name, np.exp(drawn.rows[log_column].mean()), (np.exp(low), np.exp(high)))


def _with_limits(name: str, value: float, limits: Interval) -> dict[str, float]:
    return {name: value, f"{name}_low": limits[0], f"{name}_high": limits[1]}


def _worst_ratio(group: pd.DataFrame) -> float:
    ratio = (group.iterations_5 / group.expected).groupby(group.case).mean()
    return float(ratio.max())


def _win_rates(results: pd.DataFrame) -> pd.Series:
    iterations = _iterations(results)
    best = iterations.eq(iterations.min(axis=1), axis=0)
    return best.div(best.sum(axis=1), axis=0).mean()


def _iterations(results: pd.DataFrame) -> pd.DataFrame:
    return results.pivot_table("iterations_5", "case", "ranker", "mean", sort=False)
