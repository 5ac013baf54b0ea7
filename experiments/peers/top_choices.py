"""A tree over problems that names ten configurations, as AutoHeuristic ships one per device.

Written from its description: what was best for each problem is what a small decision tree learns to
tell from the problem's sizes, and the likeliest ten are tried. A recording is a sample, and seldom
holds a configuration that is named, so the one that differs in the fewest knobs stands for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from ...models.knobs import Grid
from ..learning import Case
from .objective import Subject, context_of

CHOICES = 10
DEPTH, MIN_LEAF = 4, 10


def search(subject: Subject) -> None:
    """Asks for the ten that are named; of the same device where that is known, else of any."""
    alike = [case for case in subject.donors if set(case.knobs) == set(subject.knobs)]
    donors = [case for case in alike if case.device == subject.device] or alike
    if not donors:
        return
    named = _named(donors, subject)
    columns = list(subject.knobs)
    both = pd.concat([named, subject.knobs[columns]], ignore_index=True)
    grid = Grid.of(both)
    rows = np.arange(len(named), len(both))
    for choice in range(len(named)):
        row = grid.nearest(grid.points[choice], rows)
        subject.ask(row - len(named))
        rows = rows[rows != row]
        if not len(rows):
            return


def _named(donors: Sequence[Case], subject: Subject) -> pd.DataFrame:
    """The likeliest configurations, a row each."""
    columns = list(subject.knobs)
    contexts, labels, weights = [], [], []
    rows: dict[tuple[Hashable, ...], pd.DataFrame] = {}
    for case in donors:
        best = np.argsort(case.times, kind="stable")[:CHOICES]
        for row in best[~np.isnan(case.times[best])]:
            knobs = case.knobs.iloc[[row]][columns]
            # 16 and 16.0 are one value, as files of different donors may have it.
            key = tuple(None if pd.isna(value) else value for value in knobs.iloc[0])
            rows.setdefault(key, knobs)
            contexts.append(context_of(case))
            labels.append(key)
            weights.append(float(np.nanmin(case.times) / case.times[row]))
    keys = list(rows)
    known = [name for name in subject.context if all(name in c for c in contexts)]
    if known:
        table = np.nan_to_num([[c[name] for name in known] for c in contexts])
        tree = DecisionTreeClassifier(max_depth=DEPTH, min_samples_leaf=MIN_LEAF, random_state=0)
        tree.fit(table, [keys.index(label) for label in labels], weights)
        here = np.nan_to_num([[subject.context[name] for name in known]])
        ranked = [int(tree.classes_[i]) for i in np.argsort(-tree.predict_proba(here)[0])]
    else:
        totals = Counter[int]()
        for label, weight in zip(labels, weights, strict=True):
            totals[keys.index(label)] += weight  # type: ignore[assignment]
        ranked = [place for place, _ in totals.most_common()]
    return pd.concat([rows[keys[place]] for place in ranked[:CHOICES]], ignore_index=True)
