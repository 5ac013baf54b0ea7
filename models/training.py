"""What rankers learn from: times made comparable across problems."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ..core import InputError
from ..features import CPU, Catalogue, catalogues, detect_catalogue, parse_generic_catalogue
from .ranker import feature_matrix

TIME_COLUMN = "time_us"

# LightGBM refuses groups of more rows.
MAX_GROUP = 10_000


@dataclass(frozen=True, eq=False)
class Training:
    """Training data of rankers that learn: features, groups and targets, checked.

    Attributes:
        features: one row per candidate, one column per feature of the catalogue.
        catalogue: the one that the frame was computed with.
        groups: the number of each row's group, from 0.
        speed: the group's best time over the row's: 1 for the best, 0 for a failed candidate.
        log_rank: the logarithm of the row's place in its group, 0 for the best; failures share the
            last places. It is the same scale for every problem, tells near-winners apart, and
            has failures worse than all else without a made-up time.
    """

    features: NDArray[np.float32]
    catalogue: Catalogue
    groups: NDArray[np.intp]
    speed: NDArray[np.float64]
    log_rank: NDArray[np.float64]

    @classmethod
    def of(cls, frame: pd.DataFrame, groups: ArrayLike, ranker_name: str) -> Training:
        """Checks a training frame.

        Raises:
            InputError: columns are missing, lengths differ, or there is nothing to learn from.
        """
        if TIME_COLUMN not in frame.columns:
            raise InputError(f"ranker {ranker_name!r} needs a column {TIME_COLUMN!r} to be trained")
        labels = pd.Series(np.asarray(groups), dtype=object)
        if len(labels) != len(frame):
            raise InputError(f"got {len(labels)} groups for {len(frame)} rows, expected one each")
        codes, _ = pd.factorize(labels)
        if (codes < 0).any():
            raise InputError(
                f"groups must name a problem for every row, got {labels[codes < 0].iloc[0]}"
            )
        times = frame[TIME_COLUMN].to_numpy(dtype=np.float64)
        bad = times[~np.isnan(times) & ~((times > 0) & np.isfinite(times))]
        if len(bad):
            raise InputError(
                f"{TIME_COLUMN} must be positive, or NaN for a failed candidate, got {bad[0]}"
            )
        if np.isnan(times).all():
            raise InputError(
                f"there is nothing to learn: none of {len(frame)} candidates has a time",
                "record more candidates, or other problems",
            )
        columns = set(frame.columns)
        known = (*catalogues(), parse_generic_catalogue(columns))
        if sum(set(c.names) <= columns for c in known if c is not None) > 1:
            raise InputError(
                f"ranker {ranker_name!r} got candidates of different kinds of targets",
                "train one ranker for each kind",
            )
        catalogue = detect_catalogue(columns) or CPU
        features = feature_matrix(frame, catalogue.names, ranker_name)
        by_group = pd.Series(times).groupby(codes)
        speed = by_group.transform("min").to_numpy() / times
        place = by_group.rank(na_option="bottom").to_numpy()
        return cls(features, catalogue, codes.astype(np.intp), np.nan_to_num(speed), np.log(place))

    def group_rows(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows sorted by group, and the groups' sizes, none above `MAX_GROUP`.

        A larger group is dealt out like cards, so that every part has good and bad candidates.
        """
        rows: list[NDArray[np.intp]] = []
        for group in range(int(self.groups.max()) + 1):
            members = np.flatnonzero(self.groups == group)
            parts = -(-len(members) // MAX_GROUP)
            rows.extend(members[i::parts] for i in range(parts))
        return np.concatenate(rows), np.array([len(r) for r in rows], dtype=np.intp)
