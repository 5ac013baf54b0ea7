"""Configurations of generated dispatches: the first of the queue that `tune` would take."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from ..benchmarks.operations import Operation
from ..models import default_ranker, resolve
from ..search import read_dispatch
from ..search.spec import spec_of
from .candidates import PIPELINE, make_queue, plain, renderer
from .generated import Configuration


@dataclass(frozen=True)
class Choice:
    """Which configurations are made.

    Attributes:
        count: how many for each dispatch, or all where there are fewer.
        ranker: a name or a file; None for the target's usual one.
        pool: how many candidates are put in order.
    """

    count: int
    target: str = "host"
    ranker: str | None = None
    pool: int = 100_000
    seed: int = 0


def configurations(operation: Operation, choice: Choice) -> list[tuple[Configuration, str]]:
    """Configurations in the ranker's order, with their specs.

    Raises:
        NotTunableError: it has none.
        InputError: something given cannot be used.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{operation.name}.mlir"
        path.write_text(operation.mlir())
        dispatch = read_dispatch(path, choice.target)
    ranker = resolve(choice.ranker or default_ranker(dispatch.target), seed=choice.seed)
    queue = make_queue(dispatch, ranker, pool=choice.pool, seed=choice.seed)
    render = renderer(dispatch, queue)
    found = []
    for place in range(min(choice.count, len(queue))):
        made = _named(place, queue.iloc[place], width=len(str(choice.count)))
        found.append((made, spec_of(dispatch, render(place), made.name)))
    return found


def _named(place: int, row: pd.Series, width: int) -> Configuration:
    values = row.drop(PIPELINE).dropna().items()
    knobs = {str(name): int(plain(value)) for name, value in values}
    name = "_".join([f"c{place + 1:0{width}d}", *_words(knobs)])
    return Configuration(name, str(row[PIPELINE]), knobs)


def _words(knobs: Mapping[str, int]) -> Iterable[str]:
    """Knobs in short: `dist_m=8, dist_n=32, peel=1` are `dist-8x32` and `peel-1`."""
    groups: dict[str, list[int]] = {}
    for name, value in knobs.items():
        groups.setdefault(name.partition("_")[0], []).append(value)
    return (f"{stem}-{'x'.join(map(str, values))}" for stem, values in groups.items())
