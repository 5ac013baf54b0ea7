"""What people are shown of a candidate, beside the compiler's default."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd

from frontrunner.core import decode
from frontrunner.experiments.queue import Configuration, make_queue
from frontrunner.models import resolve_ranker
from frontrunner.search import Dispatch
from frontrunner.search.reading import read_dispatch

DATA = Path(__file__).parents[2] / "data"
DEFAULT = Configuration("A", {"vec_m": 8, "vec_n": 16, "peel": 1})


def test_a_candidate_has_the_knobs_of_its_pipeline_alone() -> None:
    queue = pd.DataFrame({"pipeline": ["A", "B"], "vec_m": [4.0, None], "tile": [None, 32.0]})
    assert Configuration.of_candidate(queue, 0) == Configuration("A", {"vec_m": 4})
    assert Configuration.of_candidate(queue, 1) == Configuration("B", {"tile": 32})


def test_only_what_differs_from_the_default_is_set_against_it() -> None:
    winner = Configuration("A", {"vec_m": 4, "vec_n": 16, "peel": 1})
    assert winner.describe(DEFAULT) == "vec_m 8 -> 4; as the default: vec_n 16, peel 1"
    other = Configuration("A", {"vec_m": 4, "vec_n": 8, "peel": 0})
    assert other.describe(DEFAULT) == "vec_m 8 -> 4, vec_n 16 -> 8, peel 1 -> 0"


def test_of_types_that_the_target_lacks_there_is_no_default() -> None:
    """Where a pipeline with a compiler of its own takes them."""
    dispatch = read_dispatch(DATA / "matmul_i8.mlir", "vp_android_baseline_2022")
    assert Configuration.of_default(dispatch) is None


def test_another_pipeline_is_shown_whole_with_the_defaults_beside_it() -> None:
    winner = Configuration("B", {"tile": 32})
    assert winner.describe(DEFAULT) == "B: tile 32 (default: A: vec_m 8, vec_n 16, peel 1)"
    assert winner.describe(None) == "tile 32"


def test_the_default_is_in_the_queue_it_is_shown_beside(matvec: Dispatch) -> None:
    default = Configuration.of_default(matvec)
    assert default is not None
    queue = make_queue(matvec, resolve_ranker("heuristic"), pool=50, seed=0)
    found = [Configuration.of_candidate(queue, i) for i in range(len(queue))]
    assert found.count(default) == 1
    assert len(queue) == 50


def test_a_default_that_no_space_reads_is_not_shown(matvec: Dispatch) -> None:
    assert Configuration.of_default(replace(matvec, default="")) is None
    assert decode(Configuration, {"pipeline": "A", "knobs": DEFAULT.knobs}) == DEFAULT
