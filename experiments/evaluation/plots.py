"""Pictures of an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ...core import shorten
from ...features import catalogues
from ..figures import Figure
from .cross_validation import Evaluation

# How many features are shown.
FEATURES = 20


def plots(
    evaluation: Evaluation, summary: pd.DataFrame
) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """What draws each picture that there is something to show in, with the picture's name.

    Args:
        summary: as `summary.summarise` gives it; rankers have its order in every picture.
    """
    names = list(summary.index)
    yield "best_so_far", partial(best_so_far, evaluation, names)
    yield "iterations", partial(iterations, evaluation.results, names)
    if len(evaluation.ranks):
        yield "ranks", partial(ranks, evaluation.ranks, names)
    importances = {
        name: predictor.importances
        for name, predictor in evaluation.predictors.items()
        if predictor.importances is not None
    }
    if importances:
        yield "importances", partial(feature_importances, importances)
    yield "size", partial(size_and_quality, summary)


def best_so_far(evaluation: Evaluation, names: list[str]) -> Figure:
    """The best so far by iteration: the median of cases, and the middle half of them."""
    figure, axes = _figure("candidates taken", "best so far, share of the optimum")
    by_case = evaluation.curves.groupby(
        [evaluation.results.ranker, evaluation.results.case], sort=False
    ).mean()
    for name in names:
        curves = by_case.loc[name]
        low, middle, high = (curves.quantile(q) for q in (0.25, 0.5, 0.75))
        (line,) = axes.step(curves.columns, middle, where="post", label=_text(name))
        band = {"alpha": 0.15, "color": line.get_color()}
        axes.fill_between(curves.columns, low, high, step="post", **band)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:.0f}")
    axes.legend(loc="lower right")
    axes.set_title("median of cases; bands hold the middle half")
    return figure


def iterations(results: pd.DataFrame, names: list[str]) -> Figure:
    """What each ranker takes on each case, the hardest case at the top."""
    cases = results.drop_duplicates("case").sort_values("expected").case.to_list()
    places = {case: place for place, case in enumerate(cases)}
    figure, axes = _figure(
        "candidates until the first within 5 % of the best", "", height=2 + 0.22 * len(cases)
    )
    for name in names:
        of_seeds = results[results.ranker == name].groupby("case").iterations_5
        middle = of_seeds.mean()
        reach = [middle - of_seeds.min(), of_seeds.max() - middle]
        place = middle.index.map(places)
        label = _text(name)
        axes.errorbar(middle, place, xerr=reach, fmt="o", markersize=5, alpha=0.8, label=label)
    axes.set_xscale("log")
    axes.set_title("mean of seeds; bars from the least to the most", fontsize="small", loc="left")
    axes.set_yticks(range(len(cases)), map(_text, cases), fontsize="small")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
    return figure


def ranks(table: pd.DataFrame, names: list[str]) -> Figure:
    """Where each candidate was put against where it belongs, all cases together."""
    shown = [name for name in names if name in set(table.ranker)]
    figure = Figure(figsize=(3.2 * len(shown), 3.4), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
        one = table[table.ranker == name]
        axes.hexbin(one.predicted, one.real, gridsize=25, mincnt=1, cmap="Greys", linewidths=0)
        correlation = one.predicted.corr(one.real, method="spearman")
        axes.set_title(f"{_text(name)}: rank correlation {correlation:.2f}", fontsize="medium")
        axes.set(xlabel="predicted rank", ylabel="real rank", xlim=(0, 1), ylim=(0, 1))
    return figure


def feature_importances(importances: dict[str, pd.Series]) -> Figure:
    """The features that each ranker relies on most."""
    figure = Figure(figsize=(10 * len(importances), 10), layout="constrained")
    panels = figure.subplots(1, len(importances), squeeze=False)[0]
    for axes, (name, values) in zip(panels, importances.items(), strict=True):
        top = (values / values.sum()).nlargest(FEATURES)[::-1]
        axes.barh([_described(name) for name in top.index], top)
        axes.set_title(_text(name))
        axes.set_xlabel("share of all importance")
        axes.tick_params(axis="y", labelsize="x-small")
    return figure


def size_and_quality(summary: pd.DataFrame) -> Figure:
    """How much better than random order, by the size of the ranker's file."""
    figure, axes = _figure("size of the file", "times fewer candidates than random order")
    for name, row in summary.iterrows():
        value = row.fewer_than_shuffle
        limits = np.array([[row.fewer_than_shuffle_low], [row.fewer_than_shuffle_high]])
        reach = np.nan_to_num(np.abs(limits - value))
        axes.errorbar(row.size_bytes, value, yerr=reach, fmt="o", capsize=3, label=_text(name))
    # Rankers that do not learn have no file.
    axes.set_xscale("symlog", linthresh=1000)
    most = 10 * max(1000, summary.size_bytes.max())
    axes.set_xlim(-200, most)
    # The scale's own ticks below 1000 lie on each other.
    sizes = [0, *(10**power for power in range(3, 10) if 10**power <= most)]
    axes.set_xticks(sizes, [_size(size) for size in sizes])
    axes.minorticks_off()
    axes.set_yscale("log")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    axes.set_title("with 95 % confidence intervals")
    return figure


def _size(size: int) -> str:
    if size >= 1_000_000:
        return f"{size // 1_000_000} MB"
    return f"{size // 1000} kB" if size else "none"


def _described(feature: object) -> str:
    """A feature's name, and below it what it is."""
    texts = {one.name: one.doc for catalogue in catalogues() for one in catalogue.features}
    text = texts.get(str(feature), "")
    return "\n".join(filter(None, [_text(feature), _text(shorten(text, 56))]))


def _text(name: object) -> str:
    """A name of a recording or a file as matplotlib shows it: dollars would make formulas of it."""
    return str(name).replace("$", r"\$")


def _figure(x: str, y: str, height: float = 4.5) -> tuple[Figure, Any]:
    figure = Figure(figsize=(7, height), layout="constrained")
    axes = figure.subplots()
    axes.set(xlabel=x, ylabel=y)
    axes.grid(alpha=0.3)
    return figure, axes
