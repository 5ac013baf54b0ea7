"""Rankers trained and judged: the tasks of an evaluation, and the side of its processes."""

from __future__ import annotations

import pickle
import tempfile
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...core import FrontrunnerError, WorkError, first_line, read_limited
from ...models import AdaptiveRanker, Ranker, save
from ..learning import Case, describe_training, training_frame
from ..peers import Peer, peer_order
from .contenders import SHUFFLE, Contender
from .full_queue import unmeasured_features
from .holdout import Fold
from .metrics import (
    BEST_OF_KS,
    CaseReference,
    Floats,
    best_shares,
    expected_best,
    expected_metrics,
    is_near_optimal,
    order_metrics,
    time_score,
)
from .replay import Replay, replay

# How long curves of the best so far are: what all rankers take at least.
CURVE = max(BEST_OF_KS)


@dataclass(frozen=True, eq=False)
class EvaluationData:
    """The data of an evaluation, which each of its processes reads once."""

    contenders: Sequence[Contender]
    folds: Sequence[Fold]
    cases: Sequence[Case]


@dataclass(frozen=True)
class EvaluationTask:
    """One ranker to be trained.

    Attributes:
        contender: which.
        fold: index of the fold to evaluate on, after training on the others; None trains on all
            cases and kept.
    """

    contender: int
    fold: int | None
    seeds: Sequence[int]


@dataclass(frozen=True, eq=False)
class Predictor:
    """A ranker that was trained on all recordings.

    Attributes:
        data: the contents of its file.
        train_s: what training took.
        importances: how much it relies on each feature; None where it cannot tell.
    """

    data: bytes
    train_s: float
    importances: pd.Series | None


@dataclass(frozen=True, eq=False)
class CaseScore:
    """The scores of a ranker on a case: a row of the results, its best times, its ranks."""

    row: dict[str, Any]
    curve: Floats
    ranks: pd.DataFrame | None = None


Result = list[CaseScore] | Predictor | None


def answer(request: tuple[Path, EvaluationTask]) -> Result:
    """The side of a process: carries out a task about what a file holds."""
    path, task = request
    return run_task(_read(path), task)


def run_task(data: EvaluationData, task: EvaluationTask) -> Result:
    """What comes of a task: how the ranker did, or its file if it learned anything."""
    contender = data.contenders[task.contender]
    try:
        if task.fold is None:
            return _train(contender, data.cases, task.seeds[0])
        fold = data.folds[task.fold]
        if contender.peer is not None:
            return _judge_peer(contender.name, contender.peer, fold, task.seeds)
        return _judge(contender, fold, task.seeds)
    except (FrontrunnerError, MemoryError, OSError):
        raise
    except Exception as error:  # it may be of another package
        told = f"{contender.name} failed: {type(error).__name__}: {first_line(error)}"
        raise WorkError(told, "--jobs 1 and FRONTRUNNER_DEBUG=1 show where; report it") from error


@cache
def _read(path: Path) -> EvaluationData:
    with path.open("rb") as file:
        subject: EvaluationData = pickle.load(file)
    return subject


@lru_cache(maxsize=64)  # all contenders and seeds are judged by it
def _reference(case: Case) -> CaseReference:
    return CaseReference.of(case.times, case.baseline_us, case.uniform)


def score_shuffle(fold: Fold, case: Case) -> CaseScore:
    """Random order, with exact expectations."""
    reference = _reference(case)
    sample = slice(None) if case.uniform is None else case.uniform
    metrics = expected_metrics(reference, case.times[sample], case.seconds[sample])
    curve = expected_best(reference.shares, CURVE)
    about = {"seed": 0, "size_bytes": 0, "train_s": 0.0, "rank_s": 0.0, "skipped": np.nan}
    about["score_time"] = 0.0
    return CaseScore(_row(SHUFFLE, fold, case, reference, metrics | about), _padded(curve))


def _judge(contender: Contender, fold: Fold, seeds: Sequence[int]) -> list[CaseScore]:
    found = []
    unlearned = contender.is_cold or (contender.learns and not fold.train)
    starts_anew = contender.searches_knobs or unlearned
    fitted: dict[int, tuple[Ranker, bytes, float]] = {}
    for case in fold.test:  # all seeds of one, for a queue is drawn once for a case
        for seed in seeds:
            if seed not in fitted or starts_anew:
                own = _lot(case, seed) >> 1 if starts_anew else seed  # rankers take 31 bits
                fitted[seed] = _fit(contender, fold.train, own)
            ranker, file, train_s = fitted[seed]
            complete = seed == seeds[0] and not isinstance(ranker, AdaptiveRanker)
            reference = _reference(case)
            if not isinstance(ranker, AdaptiveRanker):
                unmeasured_features(case)  # drawing a queue is no part of what ordering it takes
            started = time.perf_counter()
            replayed = replay(ranker, case, reference.is_decided)
            taken = replayed.rows
            about = {
                "seed": seed,
                "size_bytes": len(file),
                "train_s": train_s,
                "rank_s": time.perf_counter() - started,
            }
            ranks = _ranks(contender.name, case, taken) if complete else None
            found.append(_score(contender.name, fold, case, reference, replayed, about, ranks))
    return found


def _judge_peer(name: str, peer: Peer, fold: Fold, seeds: Sequence[int]) -> list[CaseScore]:
    found = []
    for seed in seeds:
        for case in fold.test:
            reference = _reference(case)
            started = time.perf_counter()
            rows = peer_order(peer, case, fold.train, _lot(case, seed), reference.is_decided)
            taken_s = time.perf_counter() - started
            about = {"seed": seed, "size_bytes": 0, "train_s": 0.0, "rank_s": taken_s}
            taken = Replay(rows, np.full(len(rows), np.nan))
            found.append(_score(name, fold, case, reference, taken, about))
    return found


def _lot(case: Case, seed: int) -> int:
    """The seed of a search that starts at random; the case's name is in it.

    Else a lucky start would be the same on all spaces of a size.
    """
    return zlib.crc32(f"{case.name} {seed}".encode())


def _score(
    name: str,
    fold: Fold,
    case: Case,
    reference: CaseReference,
    replayed: Replay,
    about: dict[str, float],
    ranks: pd.DataFrame | None = None,
) -> CaseScore:
    times = case.times[replayed.rows]
    sample = slice(None) if case.uniform is None else case.uniform
    seconds, usual_s = case.seconds[replayed.rows], float(np.mean(case.seconds[sample]))
    metrics = order_metrics(reference, times, seconds)
    metrics["score_time"] = time_score(reference, times, seconds, usual_s)
    skipped = float(replayed.skipped[int(metrics["iterations_5"]) - 1])
    row = _row(name, fold, case, reference, metrics | about | {"skipped": skipped})
    return CaseScore(row, _padded(best_shares(times, reference.best)), ranks)


def _train(contender: Contender, cases: Sequence[Case], seed: int) -> Predictor | None:
    """Trains a ranker on everything; None if it does not learn."""
    ranker, file, train_s = _fit(contender, cases, seed)
    # Not all rankers can tell.
    importances = getattr(ranker, "importances", lambda: None)()
    return Predictor(file, train_s, importances) if file else None


def _fit(contender: Contender, cases: Sequence[Case], seed: int) -> tuple[Ranker, bytes, float]:
    """A ranker trained on cases, its file (empty if it has learned nothing), and the seconds."""
    ranker = contender.make(seed)
    if contender.file is not None:
        return ranker, read_limited(contender.file), 0.0
    if not cases or not contender.learns:
        return ranker, b"", 0.0
    frame, groups = training_frame(cases)
    started = time.perf_counter()
    ranker.fit(frame, groups)
    train_s = time.perf_counter() - started
    if not ranker.dump():
        return ranker, b"", train_s
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "predictor"
        save(ranker, path, describe_training(cases))
        return ranker, path.read_bytes(), train_s


def _row(
    ranker: str, fold: Fold, case: Case, reference: CaseReference, figures: dict[str, float]
) -> dict[str, Any]:
    return {
        "ranker": ranker,
        "case": case.name,
        "problem": case.problem,
        "family": case.family,
        "device": case.device,
        "left_out": fold.left_out,
        "candidates": reference.candidates,
        "measured": len(case.times),
        "difficulty": reference.difficulty,
        "near": int(is_near_optimal(case.times, reference.best).sum()),
        "default_wins": reference.default_wins,
        "expected": reference.expected_iterations(),
        "expected_log": reference.expected_log_iterations(),
        **figures,
    }


def _padded(curve: Floats) -> Floats:
    """A curve of the usual length: where all candidates are taken, the best stays what it is."""
    return np.pad(curve[:CURVE], (0, max(0, CURVE - len(curve))), mode="edge")


def _ranks(ranker: str, case: Case, taken: NDArray[np.intp]) -> pd.DataFrame:
    predicted = np.empty(len(taken))
    predicted[taken] = np.arange(1, len(taken) + 1)
    real = pd.Series(case.times).rank(na_option="bottom").to_numpy()
    places = {"predicted": predicted / len(taken), "real": real / len(taken)}
    return pd.DataFrame({"ranker": ranker, "case": case.name, **places})
