"""The contract of a ranker: what orders candidates, so that the likely winners run first."""

from __future__ import annotations

import inspect
import reprlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ..core import InputError, Progress, WorkError
from ..features import CPU, GPU, VULKAN, Catalogue, detect_catalogue

Scores = NDArray[np.float64]

# The column of `Ranker.contributions` with what scores start from.
BASE = "base"

# What orders candidates before anything was measured, by the catalogue of their features.
READY = {CPU.name: "cpu", GPU.name: "heuristic", VULKAN.name: "heuristic"}

MAX_FLOAT = sys.float_info.max
# LightGBM takes no larger whole numbers.
MAX_INT32 = 2**31 - 1


@dataclass(frozen=True)
class Reason:
    """The explanation of one column of `Ranker.contributions`.

    Attributes:
        text: one line: what it is, and why it matters.
        features: the columns of the frame that it looks at.
    """

    text: str
    features: tuple[str, ...] = ()


class Ranker(ABC):
    """Orders candidates by their features.

    Like a scikit-learn estimator: the constructor stores its keyword parameters under their own
    names and does nothing else, `fit` returns self, and what was learned ends in `_`.

    Attributes:
        name: what users call it; the registry and saved files know it by this.
        needs_fit: whether `fit` must come before `score`.
        row_by_row: whether a row's score is the same whatever other rows there are; a long queue is
            then scored in pieces, which takes less memory.
        spreads_tiles: whether `order` keeps candidates with the same register tile apart, where the
            features tell (see `ordering.spread`).
        limits: the least and the largest value of parameters that are numbers.
        catalogue_: the features that it learned from.
        training_: what its file says of its training; empty where it was read from none.
        on_progress: called by `fit`, if it takes long, with how many of how many parts are done.
    """

    name: ClassVar[str]
    needs_fit: ClassVar[bool] = False
    row_by_row: ClassVar[bool] = False
    spreads_tiles: ClassVar[bool] = False
    limits: ClassVar[dict[str, tuple[float, float]]] = {"seed": (0, MAX_INT32)}
    catalogue_: Catalogue = CPU
    training_: Mapping[str, Any] = MappingProxyType({})
    on_progress: Progress = staticmethod(lambda done, total: None)

    @classmethod
    def param_names(cls) -> tuple[str, ...]:
        """The names of the constructor's parameters."""
        # Without one of its own, a class has that of `object`, which takes anything.
        anything = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        given = inspect.signature(cls.__init__).parameters.values()
        return tuple(p.name for p in given if p.name != "self" and p.kind not in anything)

    @classmethod
    def check_params(cls, params: Mapping[str, Any]) -> None:
        """Refuses values of another type than the parameter's default, or beyond `limits`.

        Raises:
            InputError: naming the first of them.
        """
        signature = inspect.signature(cls.__init__).parameters
        for name, value in params.items():
            default = signature[name].default
            low, high = cls.limits.get(name, (-MAX_FLOAT, MAX_FLOAT))
            match default:
                case bool():
                    ok, kind = isinstance(value, bool), "true or false"
                case int():
                    ok = isinstance(value, int) and is_number(value, low, high)
                    kind = "a whole number"
                case float():
                    ok, kind = is_number(value, low, high), "a number"
                case str():
                    ok, kind = isinstance(value, str), "a word"
                case _:
                    continue
            if not ok:
                limits = f" from {low} to {high}" if name in cls.limits else ""
                raise InputError(
                    f"{name} of ranker {cls.name!r} has to be {kind}{limits}, "
                    f"got {reprlib.repr(value)}",
                    f"its default is {default}",
                )

    def get_params(self) -> dict[str, Any]:
        """The constructor's parameters with their values."""
        return {name: getattr(self, name) for name in self.param_names()}

    @property
    def is_fitted(self) -> bool:
        """Whether `score` can be called."""
        return not self.needs_fit

    def fit(self, frame: pd.DataFrame, groups: ArrayLike) -> Self:
        """Learns from measured candidates; nothing to do for a ranker that does not learn.

        Args:
            frame: feature columns, and `time_us`, which is NaN where the candidate failed.
            groups: for each row, which problem (on which device) it belongs to: only times of the
                same group are compared.
        """
        return self

    @abstractmethod
    def score(self, frame: pd.DataFrame) -> Scores:
        """One number per row; lower runs first (but see `spreads_tiles`).

        Args:
            frame: feature columns; others are ignored.

        Raises:
            InputError: a feature column that the ranker needs is missing.
        """

    def score_chunks(self, chunks: Iterable[pd.DataFrame], count: int) -> Scores:
        """As `score` of all chunks as one frame, which need not be held at once.

        Args:
            chunks: frames as for `score`, at least one; they are made as they are asked for.
            count: how many rows they have together.
        """
        if not self.row_by_row:
            return self.score(pd.concat(chunks, ignore_index=True))
        return np.concatenate([checked_scores(self, self.score(one), len(one)) for one in chunks])

    def contributions(self, frame: pd.DataFrame, rows: Sequence[int] | None = None) -> pd.DataFrame:
        """Why candidates have their scores: numbers that add up to them.

        Args:
            frame: as for `score`.
            rows: positions of the candidates to explain; all if None.

        Returns:
            A row per candidate; a column per feature, or whatever else the score is made of, and
            `BASE`, which the score starts from.

        Raises:
            InputError: the order has no reasons.
        """
        raise InputError(f"ranker {self.name!r} has nothing to explain: no feature makes its order")

    def reasons(self, frame: pd.DataFrame) -> dict[str, Reason]:
        """By the columns of `contributions`: what they are. By default, features."""
        return {f.name: Reason(f.doc, (f.name,)) for f in self.catalogue_.features}

    @property
    def parts(self) -> Mapping[str, Ranker]:
        """The rankers that this one asks, by name: what they were trained on, it was trained on."""
        return {}

    def dump(self) -> dict[str, bytes]:
        """What was learned, as named pieces of data; empty where there is nothing to keep."""
        return {}

    def restore(self, payload: Mapping[str, bytes]) -> Self:
        """The inverse of `dump`, on a ranker with the same parameters and `catalogue_`.

        The bytes may come from anywhere: reading them must not be able to execute anything.

        Raises:
            InputError: the payload cannot be used.
        """
        return self

    def __repr__(self) -> str:
        params = ", ".join(f"{k}={v!r}" for k, v in self.get_params().items())
        return f"{type(self).__name__}({params})"


class AdaptiveRanker(Ranker):
    """A ranker that looks back: what is left is ordered anew as outcomes arrive.

    Attributes:
        batch: how many candidates to take between two looks; one of the constructor's parameters.
        reads_knobs: whether the frames that it is shown have a column per knob, not per feature.
    """

    batch: int
    reads_knobs: ClassVar[bool] = False
    limits = Ranker.limits | {"batch": (1, 1000)}

    @abstractmethod
    def observe(self, measured: pd.DataFrame) -> Self:
        """Takes note of outcomes; `score` then orders the candidates that are left.

        Args:
            measured: all candidates that were taken so far, in that order: feature columns, and
                `time_us`, which is NaN where the candidate failed. Rows have the labels that they
                had before they were taken. Earlier calls are forgotten.
        """

    def prepare(self, frame: pd.DataFrame) -> pd.DataFrame:
        """All candidates of a search, with what they would else be asked for after each batch.

        Args:
            frame: as for `score`; frames that come later have rows of what this returns.
        """
        return frame

    def prior_for(self, catalogue: Catalogue) -> Ranker | None:
        """The ranker that it starts from on candidates with such features; None without one."""
        return None

    def contributions(self, frame: pd.DataFrame, rows: Sequence[int] | None = None) -> pd.DataFrame:
        raise InputError(
            f"ranker {self.name!r} has nothing to explain: its order changes with what is measured",
            "explain the ranker that it starts from",
        )


def places(first: Sequence[int], others: NDArray[np.integer[Any]]) -> Scores:
    """Places from 0: those of the first rows, then those of the others in their order.

    Args:
        first: rows, each once.
        others: rows; the first ones may be among them.
    """
    head = np.array(first, dtype=np.intp)
    rows = np.concatenate([head, others[~np.isin(others, head)]])
    found = np.empty(len(rows))
    found[rows] = np.arange(len(rows))
    return found


def checked_scores(ranker: Ranker, scores: ArrayLike, count: int) -> Scores:
    """A ranker's scores, if they are one per row."""
    found = np.asarray(scores, dtype=np.float64)
    if found.shape != (count,):
        raise WorkError(
            f"ranker {ranker.name!r} returned scores of shape {found.shape}, expected ({count},)"
        )
    return found


def feature_matrix(
    frame: pd.DataFrame, names: Sequence[str], ranker_name: str
) -> NDArray[np.float32]:
    """The named columns of a frame, in this order; infinite values become NaN.

    Args:
        ranker_name: who needs the columns, for the error.

    Raises:
        InputError: some of the columns are missing.
    """
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise InputError(
            f"ranker {ranker_name!r} needs features that the frame lacks: {join_names(missing)}",
            "compute the frame with frontrunner.features.extract",
        )
    values = frame.loc[:, list(names)].to_numpy(dtype=np.float32)
    finite = np.isfinite(values)
    return values if finite.all() else np.where(finite, values, np.float32(np.nan))


def features(frame: pd.DataFrame, catalogue: Catalogue, ranker_name: str) -> NDArray[np.float32]:
    """All features of a catalogue, as `feature_matrix` gives them.

    Raises:
        InputError: the frame is of another kind of target, or lacks some features.
    """
    found = detect_catalogue(frame.columns)
    if found and found.name != catalogue.name:
        heuristic = "use the ranker 'heuristic', or " if found.name in READY else ""
        raise InputError(
            f"ranker {ranker_name!r} orders candidates for {catalogue.subject}, "
            f"and these are for {found.subject}",
            f"{heuristic}train one on such candidates",
        )
    return feature_matrix(_with_absent_words(frame, catalogue.names), catalogue.names, ranker_name)


def _with_absent_words(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The frame, with zeros for words of its knobs that none of its candidates has.

    What is no number is missing, where training saw nothing but numbers as words of a knob.
    """
    values = {"is": 0.0, "number": np.nan}
    absent = [n for n in names if n.partition(".")[0] in values and n not in frame.columns]
    if not absent:
        return frame
    knobs = {name.split(".")[1] for name in map(str, frame) if name.startswith("is.")}
    told = [name for name in absent if name.split(".")[1] in knobs]
    return frame.assign(**{name: values[name.partition(".")[0]] for name in told})


def is_number(value: object, low: float = -MAX_FLOAT, high: float = MAX_FLOAT) -> bool:
    """Whether a value is a finite number, and no flag, within limits."""
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def join_names(names: Sequence[str], limit: int = 8) -> str:
    """Names in one line, cut off where there are many."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more
