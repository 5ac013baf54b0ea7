"""The order of candidates: by their scores, those with the same register tile kept apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..features import detect_catalogue
from .ranker import Ranker, Scores, checked_scores

Hashes = NDArray[np.uint64]


def order(ranker: Ranker, frame: pd.DataFrame) -> NDArray[np.intp]:
    """The row positions of the frame, likely winners first.

    Ties keep their order, and rows without a score (NaN) come last.
    """
    scores = checked_scores(ranker, ranker.score(frame), len(frame))
    tiles = [_tile_hashes(frame)] if ranker.spreads_tiles else []
    return np.argsort(_kept_apart(scores, tiles), kind="stable")


def order_chunks(ranker: Ranker, chunks: Iterable[pd.DataFrame], count: int) -> NDArray[np.intp]:
    """As `order` of all chunks as one frame.

    Args:
        chunks, count: as for `Ranker.score_chunks`.
    """
    return np.argsort(scores_in_order(ranker, chunks, count), kind="stable")


def scores_in_order(ranker: Ranker, chunks: Iterable[pd.DataFrame], count: int) -> Scores:
    """Numbers by which chunks are ordered: scores, or places where tiles are kept apart."""
    tiles: list[Hashes | None] = []

    def noted() -> Iterator[pd.DataFrame]:
        for chunk in chunks:
            tiles.append(_tile_hashes(chunk))
            yield chunk

    read = noted() if ranker.spreads_tiles else chunks
    return _kept_apart(checked_scores(ranker, ranker.score_chunks(read, count), count), tiles)


def spread(rows: NDArray[np.intp], tiles: Hashes) -> NDArray[np.intp]:
    """An order in which the nth candidate of a register tile stands as if it came n times as late.

    What is predicted of a register tile is wrong for all candidates that have it: times differ from
    what is expected twice as much between tiles as within one (standard deviations of 0.41 and 0.21
    of the logarithm, in the first third of the orders of 97 recordings). Of the first 48 of a
    depthwise convolution (14x14x256, 7x7; Zen 4) 47 had one tile, of 2.4x; another one has 8.2x.

    Args:
        rows: in an order, likely winners first.
        tiles: what tells the register tile of each row.
    """
    place = np.arange(1, len(rows) + 1)
    nth = pd.Series(place).groupby(tiles[rows]).cumcount().to_numpy() + 1
    return rows[np.argsort(place * nth, kind="stable")]


def _kept_apart(scores: Scores, tiles: Sequence[Hashes | None]) -> Scores:
    """Places in the order of `spread`; the scores where the tiles of some rows are not known."""
    known = [part for part in tiles if part is not None]
    if not known or sum(map(len, known)) != len(scores):
        return scores
    scored = np.argsort(scores, kind="stable")[: len(scores) - int(np.isnan(scores).sum())]
    found = np.full(len(scores), np.nan)
    found[spread(scored, np.concatenate(known))] = np.arange(len(scored))
    return found


def _tile_hashes(frame: pd.DataFrame) -> Hashes | None:
    """For each candidate, a number that those with the same register tile have in common.

    None where the features do not tell.
    """
    catalogue = detect_catalogue(frame.columns)
    if (
        catalogue is None
        or not catalogue.register_tile
        or not set(catalogue.register_tile) <= set(frame.columns)
    ):
        return None
    values = frame.loc[:, list(catalogue.register_tile)].to_numpy(np.float32)
    bits = (values + np.float32(0)).view(np.uint32)  # of -0, too, those of 0
    factors = np.random.default_rng(0).integers(2**64, size=bits.shape[1], dtype=np.uint64)
    hashes: Hashes = (bits * (factors | 1)).sum(axis=1, dtype=np.uint64)
    return hashes
