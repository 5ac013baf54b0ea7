"""The default CPU ranker: predictors of several machines, weighted by likeness to the target."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ..core import InputError
from ..features import CPU
from .ranker import BASE, Ranker, Reason, Scores, features
from .storage import load
from .training import TIME_COLUMN, Training
from .trees import LightGBMRanker

# Made by `make predictor`.
PREDICTOR = Path(__file__).with_name("data") / "cpu.predictor"

# Features that are the same for all candidates of a machine, and tell machines apart.
MACHINE = ("target_vector_log2", "target_registers_log2", "target_l2_log2")
# In doublings. Predictors of machines farther off would count less than a quarter, and answering
# takes time. With each machine of the recordings left out in turn, and three seeds, 6.1 candidates
# were taken with them, and without.
_FARTHEST = 2 + 1e-6  # rounding of what targets tell
# Trees may use all features, and each learns from other rows. In the same way 6.1 candidates were
# taken (eight seeds), and 6.6 with 0.6 of the features and all rows.
_FEATURE_SHARE, _ROW_SHARE = 1.0, 0.6
_LABEL = re.compile(r"[1-9][0-9]{0,8}B-[1-9][0-9]{0,8}-[1-9][0-9]{0,8}K")
_ALL_MACHINES = "all"
# Each is asked for every candidate, and there are not many kinds of CPUs.
_MOST_MACHINES = 64
PREDICTED, SHIPPED = "predictor", "shipped predictor"


class CpuRanker(Ranker):
    """Orders by predictors of several machines; those of machines like the target count most.

    Each kind of machine that is trained on has a predictor of its own, and where there are several,
    all of them have one together. A predictor counts half as much for each doubling by which its
    machine's vector width, number of vector registers or L2 cache differs from the target's, and
    nothing beyond two, if a nearer one is known; that of all machines counts in full. Trained, it
    has predictors of its own in place of those that come with the package.
    """

    name = "cpu"
    row_by_row = True
    spreads_tiles = True
    limits = Ranker.limits | {"prior": (0, 1)}

    learned_: dict[str, LightGBMRanker]

    def __init__(self, *, prior: float = 0.0, seed: int = 0) -> None:
        """
        Args:
            prior: the share of the predictors that come with the package, once it is trained.
            seed: of the predictors' training.
        """
        self.prior = prior
        self.seed = seed

    def fit(self, frame: pd.DataFrame, groups: ArrayLike) -> Self:
        features(frame, CPU, self.name)  # it could not order other candidates
        Training.of(frame, groups, self.name)  # refuses what no predictor can learn from
        problems = np.asarray(groups)
        machines = [frame[name].to_numpy() for name in MACHINE]
        kinds = {
            _label(kind): rows
            for kind, rows in pd.Series(np.arange(len(frame))).groupby(machines).groups.items()
            if frame[TIME_COLUMN].iloc[rows].notna().any()
        }
        if len(kinds) > 1:
            kinds[_ALL_MACHINES] = pd.Index(np.arange(len(frame)))
        self.catalogue_ = CPU
        self.learned_ = {}
        if self.prior == 1:  # what it learned would not be asked
            return self
        for number, (machine, rows) in enumerate(kinds.items()):
            learner = self._learner()
            learner.on_progress = partial(self._tell, number, len(kinds))
            self.learned_[machine] = learner.fit(frame.iloc[rows], problems[rows])
            del learner.on_progress
        return self

    def _learner(self) -> LightGBMRanker:
        """An untrained predictor of one kind of machine, or of all."""
        return LightGBMRanker(feature_share=_FEATURE_SHARE, row_share=_ROW_SHARE, seed=self.seed)

    def _tell(self, before: int, predictors: int, done: int, total: int) -> None:
        self.on_progress(before * total + done, predictors * total)

    def score(self, frame: pd.DataFrame) -> Scores:
        values = features(frame, CPU, self.name)
        scores = np.zeros(len(frame))
        for part, shares in self._shared(values):
            # What was trained before a feature was added does without it.
            names = part.catalogue_.names
            known = values if names == CPU.names else values[:, _columns(names)]
            scores += shares * part.score_values(known)
        return scores

    def contributions(self, frame: pd.DataFrame, rows: Sequence[int] | None = None) -> pd.DataFrame:
        """The means of the predictors' Shapley values."""
        chosen = frame if rows is None else frame.iloc[list(rows)]
        values = features(chosen, CPU, self.name)
        names = [*CPU.names, BASE]
        total = pd.DataFrame(0.0, index=chosen.index, columns=pd.Index(names))
        for part, shares in self._shared(values):
            # What was trained before a feature was added says nothing of it.
            found = part.contributions(chosen).reindex(columns=names, fill_value=0.0)
            total += found.mul(shares, axis=0)
        return total

    def reasons(self, frame: pd.DataFrame) -> dict[str, Reason]:
        return {f.name: Reason(f.doc, (f.name,)) for f in CPU.features}

    def importances(self) -> pd.Series[float]:
        """Each feature's share in what was gained in training, in the mean of the predictors."""
        found = pd.DataFrame({n: part.importances() for n, part in self.parts.items()})
        return found.mean(axis=1)

    @property
    def parts(self) -> Mapping[str, LightGBMRanker]:
        return {
            f"{kind} {machine}": part
            for kind, (_, found) in self._predictors().items()
            for machine, part in found.items()
        }

    def dump(self) -> dict[str, bytes]:
        learned = getattr(self, "learned_", {})
        return {f"{m}/{n}": data for m, part in learned.items() for n, data in part.dump().items()}

    def restore(self, payload: Mapping[str, bytes]) -> Self:
        if self.catalogue_.name != CPU.name:
            raise InputError(
                f"it was trained on candidates for {self.catalogue_.subject}, and ranker "
                f"{self.name!r} orders those for {CPU.subject}"
            )
        machines = defaultdict[str, dict[str, bytes]](dict)
        for path, data in payload.items():
            machine, _, name = path.rpartition("/")
            machines[machine][name] = data
        if len(machines) > _MOST_MACHINES:
            raise InputError(
                f"it was learned on {len(machines)} machines, at most {_MOST_MACHINES} are taken"
            )
        if machines:
            self.learned_ = {}
        for machine, pieces in machines.items():
            # Anyone may have written it, and it is shown.
            if machine != _ALL_MACHINES and not _LABEL.fullmatch(machine):
                raise InputError("what was learned is damaged (it tells of no machine)")
            learner = self._learner()
            learner.catalogue_ = self.catalogue_
            self.learned_[machine] = learner.restore(pieces)
        return self

    def _predictors(self) -> dict[str, tuple[float, Mapping[str, LightGBMRanker]]]:
        """Its own and those of the package that it asks, by their machines, each with its share."""
        own = getattr(self, "learned_", {})
        prior = self.prior if own else 1.0
        kinds = {PREDICTED: (1 - prior, own), SHIPPED: (prior, _shipped() if prior else {})}
        return {kind: found for kind, found in kinds.items() if found[0]}

    def _shared(self, values: NDArray[np.float32]) -> Iterator[tuple[LightGBMRanker, Scores]]:
        """Each predictor that is asked, with its share in the mean for each row of features."""
        targets = values[:, _columns(MACHINE)].astype(np.float64)
        for share, found in self._predictors().values():
            distances = np.array([_distance(machine, targets) for machine in found])
            single = [machine != _ALL_MACHINES for machine in found]
            nearest = distances[single].min(axis=0, initial=np.inf)
            distances[distances > np.maximum(nearest, _FARTHEST)] = np.inf
            nearness = 2.0 ** (distances.min(axis=0) - distances)
            shares = share * nearness / nearness.sum(axis=0)
            for part, counts in zip(found.values(), shares, strict=True):
                if counts.any():
                    yield part, counts


@cache
def _shipped() -> dict[str, LightGBMRanker]:
    """The predictors that come with the package."""
    ranker = load(PREDICTOR)
    assert isinstance(ranker, CpuRanker)
    for part in ranker.learned_.values():
        part.training_ = ranker.training_
    return dict(ranker.learned_)


def _columns(names: Sequence[str]) -> list[int]:
    """Where features stand in the rows of the catalogue."""
    return list(map(CPU.names.index, names))


def _label(machine: Any) -> str:
    """A kind of machine in short, such as `64B-32-1024K`: vector bytes, registers, L2."""
    # Machines that tell no cache's size have one of a byte.
    vector, registers, l2 = (max(round(2**value), 1) for value in machine)
    return f"{vector}B-{registers}-{max(l2 >> 10, 1)}K"


def _distance(label: str, targets: Scores) -> Scores:
    """In how many doublings each target differs from the machine that a label names."""
    if label == _ALL_MACHINES:
        return np.zeros(len(targets))
    vector, registers, l2 = map(int, re.findall("[0-9]+", label))
    apart = np.abs(targets - np.log2([vector, registers, l2 << 10]))
    doublings: Scores = np.nansum(apart, axis=1)
    return doublings
