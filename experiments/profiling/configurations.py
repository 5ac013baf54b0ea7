"""Configurations of generated dispatches: the first of the queue that `tune` would take."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pandas as pd

from ...benchmarks.measuring import POOL_SIZE
from ...benchmarks.operations import Operation
from ...core import Child
from ...models import default_ranker, resolve_ranker
from ...search import CannotRender, TuningSpec, resolve_target, spec_of, spec_texts
from ...search.reading import READER, read_dispatch
from ..queue import Configuration, make_queue, renderer
from .folder import NamedSpec


@dataclass(frozen=True)
class ConfigurationOptions:
    """Which configurations are made.

    Attributes:
        count: how many for each dispatch, or all where there are fewer.
        ranker: a name or a file; None for the target's usual one.
        pool: how many candidates are put in order.
    """

    count: int
    target: str = "host"
    ranker: str | None = None
    pool: int = POOL_SIZE
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", resolve_target(self.target))


class ConfigurationMaker:
    """Makes configurations of one operation after another.

    Raises:
        InputError: there is no such ranker.
    """

    def __init__(self, choice: ConfigurationOptions) -> None:
        self.choice = choice
        if choice.ranker is not None:
            resolve_ranker(choice.ranker, seed=choice.seed)  # refused before the compiler is asked
        self._reader = Child(READER)

    def configurations(self, operation: Operation) -> list[tuple[NamedSpec, str]]:
        """Configurations in the ranker's order, with their specs.

        Raises:
            NotTunableError: it has none.
            InputError: something given cannot be used.
        """
        choice = self.choice
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{operation.name}.mlir"
            path.write_text(operation.mlir())
            dispatch = read_dispatch(path, choice.target, self._reader)
        ranker = resolve_ranker(choice.ranker or default_ranker(dispatch.target), seed=choice.seed)
        queue = make_queue(dispatch, ranker, pool=choice.pool, seed=choice.seed)
        render = renderer(dispatch, queue)
        made: list[NamedSpec] = []
        specs: list[TuningSpec] = []
        for place in range(len(queue)):
            if len(made) == choice.count:
                break
            with suppress(CannotRender):  # the next takes its place
                config = render(place)
                made.append(_named(queue, place))
                specs.append(spec_of(dispatch, config, made[-1].name))
        return list(zip(made, spec_texts(specs), strict=True))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.close()


def _named(queue: pd.DataFrame, place: int) -> NamedSpec:
    one = Configuration.of_candidate(queue, place)
    name = "_".join([f"c{place + 1:03d}", *_words(one.knobs)])
    return NamedSpec(name, one.pipeline, one.knobs)


def _words(knobs: Mapping[str, int]) -> Iterable[str]:
    """Knobs in short: `dist_m=8, dist_n=32, peel=1` are `dist-8x32` and `peel-1`."""
    groups: dict[str, list[int]] = {}
    for name, value in knobs.items():
        groups.setdefault(name.partition("_")[0], []).append(value)
    return (f"{stem}-{'x'.join(map(str, values))}" for stem, values in groups.items())
