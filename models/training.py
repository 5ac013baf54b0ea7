"""What rankers learn from: times made comparable across problems."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ..core import InputError
from ..features import CPU, Catalogue, catalogue_of, catalogues, generic_of
from .ranker import matrix

TIME = "time_us"

# LightGBM refuses groups of more rows.
MAX_GROUP = 10_000


@dataclass(frozen=True, eq=False)
class Training:
    """Measured candidates, checked.

    Attributes:
        features: one row per candidate, one column per feature of the catalogue.
        catalogue: the one that the frame was computed with.
        groups: the number of each row's group, from 0.
        speed: the group's best time over the row's: 1 for the best, 0 for a failed candidate.
        place: the logarithm of the row's place in its group, 0 for the best; failures share the
            last places. It is the same scale for every problem, tells near-winners apart, and
            has failures worse than all else without a made-up time.
    """

    features: NDArray[np.float32]
    catalogue: Catalogue
    groups: NDArray[np.intp]
    speed: NDArray[np.float64]
    place: NDArray[np.float64]

    @classmethod
    def of(cls, frame: pd.DataFrame, groups: ArrayLike, user: str) -> Training:
        """Checks a training frame.

        Raises:
            InputError: columns are missing, lengths differ, or there is nothing to learn from.
        """
        if TIME not in frame.columns:
            raise InputError(f"ranker {user!r} needs a column {TIME!r} to be trained")
        labels = pd.Series(np.asarray(groups), dtype=object)
        if len(labels) != len(frame):
            raise InputError(f"got {len(labels)} groups for {len(frame)} rows, expected one each")
        codes, _ = pd.factorize(labels)
        if (codes < 0).any():
            raise InputError(
                f"groups must name a problem for every row, got {labels[codes < 0].iloc[0]}"
            )
        times = frame[TIME].to_numpy(dtype=np.float64)
        bad = times[~np.isnan(times) & ~((times > 0) & np.isfinite(times))]
        if len(bad):
            raise InputError(
                f"{TIME} must be positive, or NaN for a failed candidate, got {bad[0]}"
            )
        if np.isnan(times).all():
            raise InputError(
                f"there is nothing to learn: none of {len(frame)} candidates has a time",
                "record more candidates, or other problems",
            )
        columns = set(frame.columns)
        known = (*catalogues(), generic_of(columns))
        if sum(set(c.names) <= columns for c in known if c is not None) > 1:
            raise InputError(
                f"ranker {user!r} got candidates of different kinds of targets",
                "train one ranker for each kind",
            )
        catalogue = catalogue_of(columns) or CPU
        features = matrix(frame, catalogue.names, user)
        by_group = pd.Series(times).groupby(codes)
        speed = by_group.transform("min").to_numpy() / times
        place = by_group.rank(na_option="bottom").to_numpy()
        return cls(features, catalogue, codes.astype(np.intp), np.nan_to_num(speed), np.log(place))

    def ranked(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows sorted by group, and the groups' sizes, none above `MAX_GROUP`.

        A larger group is dealt out like cards, so that every part has good and bad candidates.
        """
        rows: list[NDArray[np.intp]] = []
        for group in range(int(self.groups.max()) + 1):
            members = np.flatnonzero(self.groups == group)
            parts = -(-len(members) // MAX_GROUP)
            rows.extend(members[i::parts] for i in range(parts))
        return np.concatenate(rows), np.array([len(r) for r in rows], dtype=np.intp)
