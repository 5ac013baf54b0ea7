"""The order in which candidates are taken."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from frontrunner.experiments.queue import candidates
from frontrunner.experiments.queue.candidates import make_queue, with_derived
from frontrunner.models import create_ranker
from frontrunner.search import Dispatch, build_spaces
from frontrunner.search.enumeration.enumeration import add_derived_columns, count
from frontrunner.search.reading import read_dispatch
from frontrunner.search.table import PIPELINE

DATA = Path(__file__).parents[2] / "data"


def test_a_whole_space_is_shuffled_too(matvec: Dispatch) -> None:
    """Were the sample and its shuffle permuted alike, every seed would give the same order."""
    (space,) = build_spaces(matvec)
    size = count(space).value
    first, second = (
        make_queue(matvec, create_ranker("shuffle", seed=seed), pool=size, seed=seed)
        for seed in (0, 1)
    )
    assert len(first) == len(second) == size
    alike = (first.to_numpy() == second.to_numpy()).all(axis=1)
    assert alike.mean() < 0.01


def test_pipelines_take_turns(matvec: Dispatch, monkeypatch: pytest.MonkeyPatch) -> None:
    (space,) = build_spaces(matvec)
    spaces = {name: replace(space, pipeline=name) for name in ("A", "B", "C")}

    def built(dispatch: Any, pipeline: str | None, extras: Any) -> Any:
        return [s for name, s in spaces.items() if pipeline in (None, name)]

    monkeypatch.setattr(candidates, "build_spaces", built)
    ranker = create_ranker("heuristic")

    def queue(**changes: Any) -> Any:
        return make_queue(matvec, ranker, pool=20, seed=0, **changes)

    ranked, turns, one = queue(), queue(alternate=True), queue(pipeline="B")
    assert Counter(turns[PIPELINE].head(30)) == {"A": 10, "B": 10, "C": 10}
    assert len(turns) == len(ranked) == 60
    for name in spaces:
        mine = [q[q[PIPELINE] == name].reset_index(drop=True) for q in (ranked, turns)]
        assert mine[0].equals(mine[1])
    assert set(one[PIPELINE]) == {"B"}


def test_what_gpu_knobs_mean_is_kept_beside_them() -> None:
    dispatch = read_dispatch(DATA / "gpu" / "matmul_2048x1280x5120.mlir", target="gfx942")
    queue = make_queue(dispatch, create_ranker("shuffle"), pool=5, seed=0)
    kept = with_derived(dispatch, queue)
    assert kept[list(queue)].equals(queue)
    assert len(set(queue[PIPELINE])) == 2
    for space in build_spaces(dispatch):
        rows = queue[PIPELINE] == space.pipeline
        knobs = queue.loc[rows, [k.name for k in space.knobs]].astype(int)
        for name in (name for name, _ in space.derived):
            assert (
                kept.loc[rows, f"derived.{name}"].tolist()
                == add_derived_columns(space, knobs)[name].tolist()
            )


def test_cpu_knobs_speak_for_themselves(matvec: Dispatch) -> None:
    queue = make_queue(matvec, create_ranker("shuffle"), pool=5, seed=0)
    assert with_derived(matvec, queue) is queue
