"""Orders: by scores, with candidates of one register tile apart where a ranker has it so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from frontrunner.experiments.queue import sample_with_features
from frontrunner.features import CPU, GPU
from frontrunner.models import Ranker, Scores, create_ranker, order
from frontrunner.models.ordering import order_chunks, spread
from frontrunner.search import build_spaces
from frontrunner.search.reading import read_dispatch

DATA = Path(__file__).parents[1] / "data"


class Given(Ranker):
    """Has a column of the frame for scores."""

    name = "given"
    row_by_row = True
    spreads_tiles = True

    def score(self, frame: pd.DataFrame) -> Scores:
        return frame["cost"].to_numpy(dtype=np.float64)


def frame(cost: list[float], tile: list[int]) -> pd.DataFrame:
    return pd.DataFrame({**dict.fromkeys(CPU.names, 0.0), "vec_m_log2": tile, "cost": cost})


def test_what_has_a_tile_that_came_before_comes_later() -> None:
    """In the order of place times number: 1 for the first, 2 x 2, 3 x 3; 4 x 1, 5 x 2; 6 x 1."""
    found = spread(np.arange(6), np.array([7, 7, 7, 8, 8, 9], dtype=np.uint64))
    assert found.tolist() == [0, 1, 3, 5, 2, 4]


@pytest.mark.parametrize("rows", [1, 2, 6])
def test_pieces_of_a_queue_are_ordered_as_the_whole(rows: int) -> None:
    given = frame([5, 0, 1, 2, 3, 4], [9, 7, 7, 7, 8, 8])
    chunks = (given.iloc[at : at + rows] for at in range(0, len(given), rows))
    found = order_chunks(Given(), chunks, len(given)).tolist()
    assert found == order(Given(), given).tolist() == [1, 2, 4, 0, 3, 5]


def test_what_has_no_score_comes_last() -> None:
    """Also where its tile is another one."""
    given = frame([np.nan, 0, 1, 2, 3], [5, 7, 7, 7, 7])
    assert order(Given(), given).tolist() == [1, 2, 3, 4, 0]


def test_features_that_tell_no_tile_leave_the_order_to_the_scores() -> None:
    given = frame([0, 1, 2, 3], [7, 7, 7, 8])[["cost"]]
    assert order(Given(), given).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("names", [CPU.names, GPU.names, ("x", "y")])
def test_no_candidates_have_no_order(names: tuple[str, ...]) -> None:
    given = pd.DataFrame(columns=[*names, "cost"], dtype=float)
    assert order(Given(), given).tolist() == []


def test_the_order_for_cpus_tries_other_tiles_soon() -> None:
    """The best by score is the first; then come more tiles than by scores alone."""
    spaces = build_spaces(read_dispatch(DATA / "conv_depthwise.mlir", "znver4"))
    _, candidates = sample_with_features(spaces, 5_000, seed=0)
    ranker = create_ranker("cpu")
    found, scores = order(ranker, candidates), ranker.score(candidates)
    assert found[0] == scores.argmin()
    tiles = candidates[list(CPU.register_tile)].apply(tuple, axis=1).to_numpy()
    first, by_score = (len({*tiles[rows[:32]]}) for rows in (found, scores.argsort()))
    assert by_score < first
