"""The default CPU ranker: predictors of several machines and the heuristic, by mean log-rank."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core import InputError
from ..features import CPU
from .heuristic import HeuristicRanker
from .ranker import BASE, Ranker, Reason, Scores, features
from .storage import load
from .training import TIME_COLUMN, Training
from .trees import LightGBMRanker

# Made by `make predictor`.
PREDICTOR = Path(__file__).with_name("data") / "cpu.predictor"

# Features that are the same for all candidates of a machine, and tell machines apart.
MACHINE = ("target_vector_log2", "target_registers_log2", "target_l2_log2")
_LABEL = re.compile(r"[0-9]{1,9}B-[0-9]{1,9}-[0-9]{1,9}K")
PREDICTED, SHIPPED, HEURISTIC = "predictor", "shipped predictor", "heuristic"


class CpuRanker(Ranker):
    """Orders by the mean of places: by predictors trained on CPU dispatches, and the heuristic.

    Each kind of machine that is trained on has a predictor of its own, and all of them vote: on
    recordings of three machines, with the problem left out, this takes 3.3, 5.0 and 12.4 candidates
    where one predictor of them all takes 4.4, 6.0 and 15.2 (means of three seeds). Where a problem
    or a machine is unlike all that, the heuristic keeps the order sane. Trained, it has predictors
    of its own in place of those that come with the package.
    """

    name = "cpu"
    limits = Ranker.limits | {"trust": (0, 1), "prior": (0, 1)}

    learned_: dict[str, LightGBMRanker]

    def __init__(self, *, trust: float = 0.75, prior: float = 0.0, seed: int = 0) -> None:
        """
        Args:
            trust: the predictors' share in the mean.
            prior: of that, the share of those that come with the package, once it is trained.
            seed: of the predictors' training.
        """
        self.trust = trust
        self.prior = prior
        self.seed = seed

    def fit(self, frame: pd.DataFrame, groups: ArrayLike) -> Self:
        features(frame, CPU, self.name)  # it could not order other candidates
        Training.of(frame, groups, self.name)  # refuses what no predictor can learn from
        problems = np.asarray(groups)
        machines = [frame[name].to_numpy() for name in MACHINE]
        kinds = {
            kind: rows
            for kind, rows in pd.Series(np.arange(len(frame))).groupby(machines).groups.items()
            if frame[TIME_COLUMN].iloc[rows].notna().any()
        }
        self.learned_ = {}
        for number, (kind, rows) in enumerate(kinds.items()):
            learner = LightGBMRanker(seed=self.seed)
            learner.on_progress = partial(self._tell, number, len(kinds))
            self.learned_[_label(kind)] = learner.fit(frame.iloc[rows], problems[rows])
            del learner.on_progress
        return self

    def _tell(self, before: int, predictors: int, done: int, total: int) -> None:
        self.on_progress(before * total + done, predictors * total)

    def score(self, frame: pd.DataFrame) -> Scores:
        return self.score_chunks([frame], len(frame))

    def score_chunks(self, chunks: Iterable[pd.DataFrame], count: int) -> Scores:
        scores = np.zeros(count)
        for _, added in self._log_ranks(chunks):
            scores += added
        return scores

    def contributions(self, frame: pd.DataFrame, rows: Sequence[int] | None = None) -> pd.DataFrame:
        """The logarithms of the places, each times its share; the base is 0."""
        added = dict(self._log_ranks([frame]))
        found = pd.DataFrame(added, index=frame.index).assign(**{BASE: 0.0})
        return found if rows is None else found.iloc[list(rows)]

    def _log_ranks(self, chunks: Iterable[pd.DataFrame]) -> Iterator[tuple[str, Scores]]:
        """By part: its logarithms of places among the rows of all chunks, times its share."""
        shares, parts = self._shares, self.parts
        scores: dict[str, list[Scores]] = {name: [] for name in parts}
        for chunk in chunks:
            features(chunk, CPU, self.name)  # names missing features for this ranker
            for name, part in parts.items():
                scores[name].append(part.score(chunk))
        for name in parts:
            yield name, shares[name] * _log_ranks(np.concatenate(scores.pop(name)))

    def reasons(self, frame: pd.DataFrame) -> dict[str, Reason]:
        text = "the logarithm of the place among all candidates by the {}, times {:.3g}"
        return {name: Reason(text.format(name, share)) for name, share in self._shares.items()}

    @property
    def parts(self) -> Mapping[str, Ranker]:
        predictors = self._predictors()
        return {**predictors[PREDICTED], **predictors[SHIPPED], HEURISTIC: HeuristicRanker()}

    def dump(self) -> dict[str, bytes]:
        learned = getattr(self, "learned_", {})
        return {f"{m}/{n}": data for m, part in learned.items() for n, data in part.dump().items()}

    def restore(self, payload: Mapping[str, bytes]) -> Self:
        machines = defaultdict[str, dict[str, bytes]](dict)
        for path, data in payload.items():
            # Older files hold one predictor, of all machines, and no folder for it.
            machine, _, name = path.rpartition("/")
            machines[machine][name] = data
        if machines:
            self.learned_ = {}
        for machine, pieces in machines.items():
            # Anyone may have written it, and it is shown.
            if machine and not _LABEL.fullmatch(machine):
                raise InputError("what was learned is damaged (it tells of no machine)")
            learner = LightGBMRanker(seed=self.seed)
            learner.catalogue_ = self.catalogue_
            self.learned_[machine] = learner.restore(pieces)
        return self

    def _predictors(self) -> dict[str, dict[str, Ranker]]:
        """Its own and those of the package that it asks, by names that tell their machines."""
        own = getattr(self, "learned_", {})
        shipped = _shipped() if self.prior or not own else {}
        kinds: dict[str, Mapping[str, Ranker]] = {PREDICTED: own, SHIPPED: shipped}
        return {
            kind: {f"{kind} {machine}".rstrip(): part for machine, part in found.items()}
            for kind, found in kinds.items()
        }

    @property
    def _shares(self) -> dict[str, float]:
        """Of each part in the mean."""
        found = self._predictors()
        prior = self.prior if found[PREDICTED] else 1.0
        of_kinds = {PREDICTED: 1 - prior, SHIPPED: prior}
        shares = {
            name: self.trust * of_kinds[kind] / len(names)
            for kind, names in found.items()
            for name in names
        }
        return shares | {HEURISTIC: 1 - self.trust}


@cache
def _shipped() -> dict[str, Ranker]:
    """The predictors that come with the package."""
    ranker = load(PREDICTOR)
    assert isinstance(ranker, CpuRanker)
    for part in ranker.learned_.values():
        part.training_ = ranker.training_
    return dict(ranker.learned_)


def _label(machine: Any) -> str:
    """A kind of machine in short, such as `64B-32-1024K`: vector bytes, registers, L2."""
    vector, registers, l2 = (round(2**value) for value in machine)
    return f"{vector}B-{registers}-{l2 >> 10}K"


def _log_ranks(scores: Scores) -> Scores:
    """Logarithms of places; equal scores share one, so that the order does not matter."""
    return np.log(pd.Series(scores).rank(na_option="bottom").to_numpy(np.float64))
