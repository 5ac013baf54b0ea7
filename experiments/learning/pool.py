"""Candidates to put in order and choose from: a sample of a dispatch's, or recorded ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...core import InputError
from ...models import Ranker, default_ranker, order
from ...search import PIPELINE, Dispatch, Knob, Space, build_spaces, knob_value
from ...search.enumeration import satisfies
from ..queue import check_not_empty, sample_with_features
from .cases import read_cases

# Knobs by name, as a user writes their values.
KnobTexts = Mapping[str, str]


@dataclass(frozen=True, eq=False)
class CandidatePool:
    """Candidates.

    Attributes:
        candidates: `pipeline`, and a column per knob.
        features: a row for each.
        times: as recorded, in microseconds; NaN where a candidate failed or was not measured.
        devices: fingerprints of those that they were measured on; none for a dispatch's.
        arch: what they are compiled for; empty for other people's kernels.
        ranker: the usual one for them; empty where there is none.
        indices: what a recording's column `index` holds: rows of files that are sorted by time are
            shuffled here, and those that were killed are left out.
        spaces: those of a dispatch.
    """

    candidates: pd.DataFrame
    features: pd.DataFrame
    times: NDArray[np.float64]
    devices: tuple[str, ...]
    arch: str
    ranker: str
    spaces: tuple[Space, ...] = ()
    indices: tuple[int, ...] = ()

    @classmethod
    def of_dispatch(
        cls,
        dispatch: Dispatch,
        size: int,
        seed: int,
        pipeline: str | None = None,
        extras: Mapping[str, tuple[int, ...]] | None = None,
    ) -> CandidatePool:
        """What `tune` puts in order, given the same.

        Raises:
            InputError: the dispatch has no candidate.
        """
        spaces = build_spaces(dispatch, pipeline, extras)
        candidates, features = sample_with_features(spaces, size, seed)
        check_not_empty(candidates, dispatch)
        target, times = dispatch.target, np.full(len(candidates), np.nan)
        usual = default_ranker(target)
        return cls(candidates, features, times, (), target.arch, usual, spaces)

    @classmethod
    def of_recording(cls, path: Path) -> CandidatePool:
        """All that was recorded.

        Raises:
            InputError: it is no recording, or cannot be used.
        """
        case, *others = read_cases([path])
        if others:
            raise InputError(f"{path} holds {1 + len(others)} recordings", "name one of them")
        recording, target = case.recording, case.recording.provenance.target
        return cls(
            candidates=recording.frame[[PIPELINE, *recording.knobs]],
            features=case.features,
            times=case.times,
            devices=tuple(recording.provenance.devices.values()),
            arch=target.arch if target else "",
            ranker=default_ranker(target) if target else "",
            indices=tuple(recording.frame["index"].tolist()),
        )

    @property
    def is_recorded(self) -> bool:
        return not self.spaces

    def pipeline(self, row: int) -> str:
        return str(self.candidates[PIPELINE].iloc[row])

    def knobs(self, row: int) -> dict[str, Any]:
        """Those that the candidate's pipeline has, with their values."""
        values = self.candidates.drop(columns=PIPELINE).iloc[row].dropna()
        return {str(name): knob_value(value) for name, value in values.items()}

    def rows_with(self, given: KnobTexts) -> list[int]:
        """The rows whose knobs have the given values.

        Raises:
            InputError: there is no such knob, or no such row.
        """
        knobs = self.candidates.drop(columns=PIPELINE)
        _check_names(given, list(map(str, knobs)))
        words = knobs[list(given)].map(lambda value: str(knob_value(value)))
        found = np.flatnonzero((words == pd.Series(given)).all(axis=1))
        if not len(found):
            hints = [
                f"{name} is one of: {', '.join(words[name][knobs[name].notna()].unique())}"
                for name, value in given.items()
                if value not in set(words[name])
            ]
            raise InputError(f"no candidate has {_show(given)}", "; ".join(hints or ["set fewer"]))
        return [int(row) for row in found]

    def with_best(self, given: KnobTexts, ranker: Ranker, seed: int) -> CandidatePool:
        """A copy with one more candidate: the first of the whole space that has the given values.

        The sample holds few of them, or none, where the space is large.

        Raises:
            InputError: there is no such knob, or no such candidate.
        """
        candidates, features = sample_with_features(
            _narrowed(self.spaces, given), len(self.candidates), seed
        )
        if candidates.empty:
            raise InputError(
                f"no candidate has {_show(given)}: {_violated_constraints(self.spaces, given)}",
                "`frontrunner space IN.mlir --limit 5` shows candidates that there are",
            )
        best = order(ranker, features)[:1]
        merged = pd.concat([candidates.iloc[best], self.candidates], ignore_index=True)
        described = pd.concat([features.iloc[best], self.features], ignore_index=True)
        new = ~merged.duplicated().to_numpy()
        return replace(
            self,
            candidates=merged[new].reset_index(drop=True),
            features=described[new].reset_index(drop=True),
            times=np.full(int(new.sum()), np.nan),
        )


def _narrowed(spaces: Sequence[Space], given: KnobTexts) -> list[Space]:
    """The spaces that have all these knobs, with only these values of them."""
    _check_names(given, sorted({knob.name for space in spaces for knob in space.knobs}))
    able = [s for s in spaces if set(given) <= {knob.name for knob in s.knobs}]
    if not able:
        raise InputError(f"no pipeline has all of {', '.join(given)}", "set fewer knobs")
    for name, value in given.items():
        known = sorted({v for s in able for k in s.knobs if k.name == name for v in k.values})
        if value not in map(str, known):
            raise InputError(
                f"the knob {name} cannot be {value!r}", f"it takes: {', '.join(map(str, known))}"
            )
    return [
        replace(
            space,
            knobs=tuple(
                Knob(k.name, tuple(v for v in k.values if str(v) == given.get(k.name, str(v))))
                for k in space.knobs
            ),
            default=None,
        )
        for space in able
    ]


def _violated_constraints(spaces: Sequence[Space], given: KnobTexts) -> str:
    """What keeps a candidate out, if all its knobs are given."""
    for space in spaces:
        if {knob.name for knob in space.knobs} == set(given):
            columns = {name: np.array([int(value)]) for name, value in given.items()}
            broken = [c.reason for c in space.constraints if not satisfies([c], columns)[0]]
            if broken:
                return "; ".join(broken)
    return "constraints forbid them together"


def _check_names(given: KnobTexts, known: Sequence[str]) -> None:
    if unknown := [name for name in given if name not in known]:
        raise InputError(f"no knob {unknown[0]!r}", f"there are: {', '.join(known)}")


def _show(given: KnobTexts) -> str:
    return " ".join(f"{name}={value}" for name, value in given.items())
