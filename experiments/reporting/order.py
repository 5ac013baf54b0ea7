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
    Cell,
    Chart,
    Facts,
    Table,
    Text,
    amount,
    coloured,
    layer,
    layered,
    named,
    number,
    rows_height,
    told,
    whole,
)
from .runs import COLOURS, Run

# Candidates among which places are told: features of as many take 0.1 s.
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
    size = len(run.setup.queue)
    words = (
        f"The rank correlation of places in the queue and by time is {found:.2f} among the "
        f"{len(ran)} that ran. These were taken from the front of {size:,}, so that all were "
        f"expected to be good: among them, a low one is usual."
    )
    yield Text(words)
    if run.setup.manifest.looks_back:
        yield Text(
            f"The ranker {options.ranker} orders anew what is left after each batch: places in the "
            f"queue are those before anything was measured."
        )
    default = _place_of_default(run)
    if default is not None:
        yield Text(
            f"The compiler's default has place {default:,} of {size:,} in the queue; the best "
            f"candidate has {run.fastest:,}."
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
    """Which features put the winner where it was."""
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
    place = run.winner.index + 1 if run.winner else run.fastest
    if place is None:
        yield Text("No candidate has run yet.")
        return
    name = f"candidate {place}{', the winner' if run.winner else ''}"
    shown = {name: place}
    if (default := _place_of_default(run)) is not None and default != place:
        shown["the default"] = default
    places = [*shown.values(), *map(int, run.taken["place"])]
    rows = _sampled(len(run.setup.queue), places, run.seed)
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
        f"A score is a sum; the lowest runs first, so that what is below 0 put a candidate to the "
        f"front. Places are among {len(rows):,} of the queue."
    )
    if ranker.parts:
        yield _parts(ranker.parts, features, at)
    for title, group in _groups(scores):
        yield _bars(title, group)


def _parts(parts: Mapping[str, Ranker], features: pd.DataFrame, at: Mapping[str, int]) -> Table:
    """The place that each part of a ranker gives to candidates."""
    rows: list[tuple[Cell, ...]] = []
    for name, part in parts.items():
        places = pd.Series(part.score(features)).rank(method="min")
        rows.append((Cell(name), *(number(float(places.iloc[row]), ",.0f") for row in at.values())))
    return Table.of(
        "The place that each part of the ranker gives", ["part", *(f"#{who}" for who in at)], rows
    )


def _groups(scores: Mapping[str, Score]) -> Iterator[tuple[str, dict[str, dict[str, float]]]]:
    """What features add, by candidate: of all predictors in the mean, of others by themselves."""
    (first, *_) = scores.values()
    if not first.parts:
        yield f"What features add ({first.ranker})", {w: _adds([s]) for w, s in scores.items()}
        return
    by_ranker: dict[str, list[str]] = {}
    for name, part in first.parts.items():
        by_ranker.setdefault(part.ranker, []).append(name)
    for ranker, names in by_ranker.items():
        many = (
            f"{len(names)} predictors of kind {ranker}, in the mean" if len(names) > 1 else ranker
        )
        yield (
            f"What features add ({many})",
            {who: _adds([score.parts[name] for name in names]) for who, score in scores.items()},
        )


def _adds(scores: Sequence[Score]) -> dict[str, float]:
    table = pd.DataFrame([{share.name: share.adds for share in score.shares} for score in scores])
    return {str(name): float(value) for name, value in table.mean().items()}


def _bars(title: str, group: Mapping[str, Mapping[str, float]]) -> Chart:
    (name, adds), *others = group.items()
    largest = sorted(adds, key=lambda feature: -abs(adds[feature]))[:FEATURES]
    largest = [feature for feature in largest if adds[feature]]
    bars = [{"feature": f, "adds": adds[f], "who": name} for f in largest]
    dots = [{"feature": f, "adds": o.get(f), "who": w} for w, o in others for f in largest]
    y = named("feature", sort=largest)
    x = amount("adds", "adds to the score (left: to the front)", scale={"zero": True})
    colours = {name: "--accent", **{who: "--c2" for who, _ in others}}
    tip = told(feature="feature", adds="adds", who="of")
    spec = layered(
        layer(
            bars,
            {"type": "bar", "height": {"band": 0.6}},
            y=y,
            x=x,
            color=coloured("who", colours=colours),
            tooltip=tip,
        ),
        layer(
            dots,
            {"type": "point", "filled": True, "size": 70, "opacity": 1},
            y=y,
            x=x,
            color=coloured("who", colours=colours),
            tooltip=tip,
        ),
        height=rows_height(len(largest)),
    )
    listed = "; ".join(f"{f} {adds[f]:+.3g}" for f in largest)
    return Chart(title, f"Bars are {name}.", f"{title}, {name}: {listed or 'nothing'}.", spec)


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


def _sampled(count: int, needed: Sequence[int], seed: int) -> list[int]:
    """Rows of the queue: those that are needed, by place, and others at random."""
    rows = {place - 1 for place in needed}
    if count <= SAMPLE:
        return list(range(count))
    drawn = np.random.default_rng(seed).choice(count, SAMPLE, replace=False)
    return sorted(rows | set(drawn.tolist()))


def _some(values: Sequence[str]) -> str:
    """The first of many words."""
    shown = ", ".join(values[:6])
    return f"{shown} and {len(values) - 6} more" if len(values) > 6 else shown
