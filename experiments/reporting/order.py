"""The order in which candidates were taken: how right it was, from where it is, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from ...core import FrontrunnerError
from ...features import catalogue_for_target
from ...models import AdaptiveRanker, Ranker, resolve_ranker
from ..learning import Score, device_warning, scores_of, training_values
from ..queue import features_of
from .drawing import (
    Block,
    Chart,
    Facts,
    Table,
    Text,
    amount,
    coloured,
    layer,
    layered,
    named,
    rows_height,
    told,
    whole,
)
from .runs import COLOURS, Run

# Candidates among which those are that are explained: features of as many take 0.1 s.
SAMPLE = 4_000
FEATURES = 12


def quality(run: Run) -> Iterator[Block]:
    """How far the order of the queue was that of the times."""
    ran = run.taken.dropna(subset="relative")
    options = run.setup.manifest.options
    if len(ran) < 3:
        yield Text("Too few candidates ran to judge the order by.")
        return
    # Spearman's; pandas would import scipy.stats for it, which takes 2 s.
    found = ran["place"].rank().corr(ran["measured_place"].rank())
    if np.isnan(found):
        yield Text(f"All {len(ran)} that ran took the same: no order is better than another.")
        return
    size = len(run.setup.queue)
    usual = "a low one is usual" if found >= 0 else "those in front were rather the slower ones"
    yield Text(
        f"The rank correlation of places in the queue and by time is {found:.2f} among the "
        f"{len(ran)} that ran. These were taken from the front of {size:,}, so that all were "
        f"expected to be good: among them, {usual}."
    )
    if run.setup.manifest.looks_back:
        yield Text(
            f"The ranker {options.ranker} orders anew what is left after each batch: places in the "
            f"queue are those before anything was measured."
        )
    default = _place_of_default(run)
    if default is not None and run.best is not None:
        place, what = run.best
        yield Text(
            f"The compiler's default has place {default:,} of {size:,} in the queue; {what} has "
            f"{place:,}."
        )
    values = [
        {"x": r["place"], "y": r["measured_place"], "shown": r["shown"],
         "knobs": run.knobs(r["place"])}
        for r in ran.nsmallest(1000, "measured_place").to_dict("records")
    ]  # fmt: skip
    kinds = {k: c for k, c in COLOURS.items() if k in set(ran["shown"])}
    spec = layered(
        layer(
            values,
            {"type": "point", "filled": True, "size": 50, "opacity": 0.85},
            x=whole("x", "place in the queue", log=len(run.taken) > 200),
            y=whole("y", "place by time", scale={"reverse": True}),
            color=coloured("shown", colours=kinds),
            tooltip=told(x="place in the queue", y="place by time", knobs="knobs"),
        ),
    )
    yield Chart(
        "Place by time against place in the queue",
        "The best is at the top, the first that was taken at the left.",
        f"Place by time against place in the queue: rank correlation {found:.2f}.",
        spec,
    )


def training(run: Run) -> Iterator[Block]:
    """Where the ranker learned what it knows."""
    ranker = _ranker(run)
    if isinstance(ranker, str):
        yield Text(ranker)
        return
    manifest, target = run.setup.manifest, run.setup.dispatch.target
    catalogue = catalogue_for_target(target)
    told_of = {
        "devices": training_values(ranker, "devices", catalogue),
        "architectures": training_values(ranker, "archs", catalogue),
        "problems": training_values(ranker, "problems", catalogue),
    }
    rows = [("ranker", ranker.name)]
    rows += [(name, _some(values)) for name, values in told_of.items()]
    yield Facts.of(rows)
    if not any(told_of.values()):
        yield Text("It was trained on nothing: its order is written by hand, or at random.")
    if warning := device_warning(ranker, manifest.devices, target.arch, catalogue):
        yield Text(f"{warning[0].upper()}{warning[1:]}.", warning=True)


def reasons(run: Run) -> Iterator[Block]:
    """Which features put the best where it was."""
    ranker = _ranker(run)
    if isinstance(ranker, str):
        yield Text(ranker)
        return
    if isinstance(ranker, AdaptiveRanker):
        yield Text(
            f"The ranker {ranker.name} orders by what was measured before, so that no feature "
            f"alone made its order."
        )
        return
    if run.best is None:
        yield Text("No candidate has run yet.")
        return
    place, what = run.best
    shown = {f"candidate {place}, {what}": place}
    if (default := _place_of_default(run)) is not None and default != place:
        shown["the default"] = default
    places = list(shown.values())
    if not ranker.row_by_row:  # its scores depend on what else there is
        places += _sample(len(run.setup.queue), run.seed)
    rows = sorted({place - 1 for place in places})
    try:
        features = features_of(run.setup.dispatch, run.setup.queue.iloc[rows])
        features = features.reset_index(drop=True)
        at = {who: rows.index(one - 1) for who, one in shown.items()}
        scores = dict(zip(at, scores_of(ranker, features, list(at.values())), strict=True))
    except FrontrunnerError as error:
        yield Text(f"There is nothing to explain: {error}.")
        return
    except Exception as error:  # spaces of plug-ins that are gone, or of what the compiler emits
        yield Text(
            f"The features of these candidates cannot be computed from the folder alone "
            f"({type(error).__name__}): `frontrunner explain` asks the compiler for what they need."
        )
        return
    yield Text(
        "A score is a sum; the lowest runs first, so that what is below 0 put a candidate to the "
        "front."
    )
    yield from _what_features_add(ranker.name, scores)


def _what_features_add(ranker: str, scores: Mapping[str, Score]) -> Iterator[Block]:
    """The largest of what features add to the first score, beside what they add to the others."""
    adds = {who: {one.name: one.adds for one in score.shares} for who, score in scores.items()}
    (first, score), *others = scores.items()
    largest = [one for one in score.shares if one.adds][:FEATURES]
    names = [one.name for one in largest]
    bars = [
        {"feature": one.name, "adds": one.adds, "who": first, "what": one.text} for one in largest
    ]
    dots = [
        {"feature": one.name, "adds": adds[who].get(one.name), "who": who, "what": one.text}
        for who, _ in others
        for one in largest
    ]
    y = named("feature", sort=names)
    x = amount("adds", "adds to the score (left: to the front)", scale={"zero": True})
    colours = {first: "--accent", **{who: "--c2" for who, _ in others}}
    encoding = {
        "y": y,
        "x": x,
        "color": coloured("who", colours=colours),
        "tooltip": told(feature="feature", adds="adds", who="of", what="what it is"),
    }
    spec = layered(
        layer(bars, {"type": "bar", "height": {"band": 0.6}}, **encoding),
        layer(dots, {"type": "point", "filled": True, "size": 70, "opacity": 1}, **encoding),
        height=rows_height(len(names)),
    )
    title = f"What features add ({ranker})"
    listed = "; ".join(f"{one.name} {one.adds:+.3g}" for one in largest)
    yield Chart(title, f"Bars are {first}.", f"{title}, {first}: {listed or 'nothing'}.", spec)
    values = {
        who: {one.name: ", ".join(f"{v:g}" for v in one.values.values()) for one in score.shares}
        for who, score in scores.items()
    }
    yield Table.of(
        "What these features are, and their values",
        ["feature", *scores, "what it is"],
        [(one.name, *(values[who].get(one.name) for who in scores), one.text) for one in largest],
    )


def _ranker(run: Run) -> Ranker | str:
    """The run's ranker, or why it cannot be asked."""
    options = run.setup.manifest.options
    try:
        return resolve_ranker(options.ranker or "", options.seed)
    except FrontrunnerError as error:
        return f"The ranker {options.ranker} cannot be asked: {error}."


def _place_of_default(run: Run) -> int | None:
    """Where the compiler's default stands in the queue."""
    if run.default is None:
        return None
    queue, knobs = run.setup.queue, run.default.knobs
    if not set(knobs) <= set(queue.columns):
        return None
    same = (queue[list(knobs)] == pd.Series(knobs)).all(axis=1)
    found = np.flatnonzero(same & (queue["pipeline"] == run.default.pipeline))
    return int(found[0]) + 1 if len(found) else None


def _sample(count: int, seed: int) -> list[int]:
    """Places in the queue at random, from 1."""
    drawn = np.random.default_rng(seed).choice(count, min(SAMPLE, count), replace=False)
    return [place + 1 for place in drawn.tolist()]


def _some(values: Sequence[str]) -> str:
    """The first of many words."""
    shown = ", ".join(values[:6])
    return f"{shown} and {len(values) - 6} more" if len(values) > 6 else shown
